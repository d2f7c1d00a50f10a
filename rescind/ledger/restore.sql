-- Is this the ledger that Temporal remembers? Each look of the sweeper counts on here, and Temporal carries the count.

create table if not exists watermark (
    namespace text   collate "C" primary key,
    n         bigint not null default 0,  -- looks of the sweeper
    behind    bigint,                     -- what Temporal remembers, while this ledger is behind it
    said_by   text,                       -- who brought it in step last, and when
    said_at   timestamptz
);
alter table watermark add column if not exists looked_at timestamptz not null default clock_timestamp();

-- Compare with what Temporal remembers (null: nothing), and count on if this is a look; nothing counts while behind.
create or replace function compare_watermark(namespace_id text, remembered bigint, is_look boolean) returns jsonb
language plpgsql as $$
declare
    this watermark;
begin
    insert into watermark (namespace) values (namespace_id) on conflict do nothing;
    select * into this from watermark where namespace = namespace_id for no key update;
    if remembered > greatest(this.n, this.behind) then
        this.behind := remembered;
    elsif is_look and this.behind is null then
        this.n := this.n + 1;
    end if;
    update watermark
    set n = this.n, behind = this.behind, looked_at = case when is_look then clock_timestamp() else looked_at end
    where namespace = namespace_id;
    return jsonb_build_object('n', this.n, 'behind', this.behind);
end $$;

create or replace function bring_in_step(namespace_id text, who text) returns jsonb language sql as $$
    with done as (
        update watermark set n = greatest(n, behind), behind = null, said_by = who, said_at = clock_timestamp()
        where namespace = namespace_id and behind is not null
        returning n)
    select jsonb_build_object('n', (select n from done))
$$;

-- How a statement starts that lets somebody act, or believes that nobody did.
create or replace function enter_in_step(saga_id text, caller_epoch int) returns saga language plpgsql as $$
begin
    if exists (select from watermark where namespace = split_part(saga_id, '/', 1) and behind is not null) then
        raise 'This ledger was restored from an older backup. Nothing was changed.' using errcode = 'RS004';
    end if;
    return enter(saga_id, caller_epoch);
end $$;

-- A workflow has called for an effect of which this restored ledger knows no end: it may have lost an attempt. Where it
-- still has what was there before, that is one more attempt that has not reported. Otherwise nobody can tell: a lookup
-- that compares with what was there before would say "absent" of an effect that stands.
create or replace function mistrust(saga_id text, effect_key text, place int[], late float8, why text)
returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, null);
    was effect := find_effect(saga_id, effect_key);
    become effect := was;
begin
    if was.state <> 'intended' and (was.state <> 'absent' or was.fenced) then
        return jsonb_build_object('state', null);
    end if;
    become.key := effect_key;
    become.saga := saga_id;
    become.seq := place;
    become.attempt := was.attempt + 1;
    become.unproven := was.unproven || become.attempt;
    become.landing := greatest(was.landing, in_seconds(late));
    become.error := why;
    if was.before is not null then
        become.state := 'intended';
    else
        become.state := 'in_doubt';
        become.fenced := true;
        become.request := null;
    end if;
    perform store('mistrust', entered, entered, was, become);
    return jsonb_build_object('state', become.state);
end $$;
