-- How a statement starts (enter) and ends (store), and the journal's chain of hashes.

-- Lock the saga's row, and make it if there is none. An epoch of null comes from whoever may always report.
create or replace function enter(saga_id text, caller_epoch int) returns saga language plpgsql as $$
declare
    this saga;
begin
    select * into this from saga where id = saga_id for no key update;
    if not found then
        insert into saga (id) values (saga_id) on conflict do nothing;
        select * into this from saga where id = saga_id for no key update;
    end if;
    if this.epoch <> caller_epoch then
        raise 'The saga was taken over. Nothing was changed.'
            using errcode = 'RS001', detail = concat_ws('|', this.epoch, coalesce(this.owner, ''), this.id);
    end if;
    return this;
end $$;

-- A record with nothing in it; its key is null until there is a row.
create or replace function blank_effect() returns effect language sql immutable as $$
    select jsonb_populate_record(null::effect, jsonb_build_object(
        'tool', '', 'version', 0, 'digest', '', 'fenced', false, 'attempt', 0, 'unproven', '{}'::int[],
        'landing', '-infinity', 'changed', true, 'found', false, 'undo_try', 0, 'undo_landing', '-infinity',
        'dirty', false))
$$;

-- The record of a key, or a blank one. A key belongs to one saga for ever.
create or replace function find_effect(saga_id text, effect_key text) returns effect language plpgsql as $$
declare
    was effect;
begin
    select * into was from effect where key = effect_key;
    if not found then
        return blank_effect();
    end if;
    if was.saga <> saga_id then
        raise 'Key % belongs to saga %, not to %. Nothing was changed.', effect_key, was.saga, saga_id
            using errcode = 'RS003';
    end if;
    return was;
end $$;

create or replace function known_effect(saga_id text, effect_key text) returns effect language plpgsql as $$
declare
    was effect := find_effect(saga_id, effect_key);
begin
    if was.key is null then
        raise 'The ledger has no effect with key %. Nothing was changed.', effect_key using errcode = 'RS003';
    end if;
    return was;
end $$;

create or replace function seconds_until(moment timestamptz) returns float8 language sql volatile as $$
    select case when moment = '-infinity' then 0
                else greatest(0, extract(epoch from moment - clock_timestamp()))::float8 end
$$;

create or replace function in_seconds(seconds float8) returns timestamptz language sql volatile as $$
    select clock_timestamp() + make_interval(secs => seconds)
$$;

create or replace function refused(why text, kind text, state text) returns jsonb language sql immutable as $$
    select jsonb_build_object('answer', 'refused', 'why', why, 'of', kind, 'state', state)
$$;

create or replace function changes(was jsonb, become jsonb) returns jsonb language sql immutable as $$
    select coalesce(jsonb_object_agg(key, value), '{}')
    from jsonb_each(become)
    where was -> key is distinct from value
$$;

create or replace function line_hash(
    head bytea, saga_id text, line_n bigint, line_at timestamptz, line_event text, line_body jsonb
) returns bytea language sql immutable as $$
    select sha256(head || convert_to(
        line_n || E'\n' || (extract(epoch from line_at) * 1000000)::bigint || E'\n' || line_event
        || E'\n' || saga_id || E'\n' || line_body::text, 'utf8'))
$$;

create or replace function write_effect(was effect, become effect) returns void language plpgsql as $$
begin
    if was.key is null then
        insert into effect select become.*;
        return;
    end if;
    update effect set
        seq = become.seq, tool = become.tool, version = become.version, repeat = become.repeat,
        digest = become.digest, request = become.request, state = become.state, fenced = become.fenced,
        attempt = become.attempt, unproven = become.unproven, landing = become.landing,
        before = become.before, result = become.result, changed = become.changed, found = become.found,
        undo_try = become.undo_try, undo_landing = become.undo_landing, dirty = become.dirty,
        restoration = become.restoration, error = become.error
    where key = become.key;
end $$;

-- A saga is not what its state says once an effect stands that was believed gone, or one happened twice.
create or replace function reopened(this saga, was effect, become effect) returns boolean
language sql immutable as $$
    select case this.state
        when 'closed' then become.state in ('applied', 'in_doubt')
        when 'sealed' then become.state = 'applied' and (was.state <> 'applied' or become.dirty)
        -- In a later epoch a part of it is being undone: then only what was believed gone counts.
        when 'committed' then become.state = 'applied' and (become.dirty
            or was.state in ('absent', 'undone', 'resolved') or (this.epoch = 0 and was.state <> 'applied'))
        else false
    end
$$;

create or replace function nothing_stands(saga_id text) returns boolean language sql stable as $$
    select not exists (
        select from effect
        where saga = saga_id and state in ('intended', 'applied', 'undoing', 'stuck', 'in_doubt'))
$$;

-- What a line says of the saga; the first one says all of it.
create or replace function saga_changes(entered saga, this saga) returns jsonb language sql immutable as $$
    select case when entered.n = 0 then to_jsonb(this) - 'n' - 'head'
                else changes(to_jsonb(entered), to_jsonb(this) - 'n' - 'head') end
$$;

-- The end of every statement that changes something: the record, the saga, and one line that says what changed.
create or replace function store(
    line_event text, entered saga, this saga, was effect, become effect, detail jsonb default '{}'
) returns saga language plpgsql as $$
declare
    line_at timestamptz := clock_timestamp();
    line_body jsonb := jsonb_strip_nulls(detail);
begin
    if become.key is not null then
        perform write_effect(was, become);
        line_body := line_body || jsonb_build_object(
            'key', become.key, 'effect', changes(to_jsonb(was), to_jsonb(become)));
        if reopened(this, was, become) then
            this.state := 'unwinding';
        end if;
        if become.state in ('absent', 'undone', 'resolved') then
            this.part := array_remove(this.part, become.key);
        end if;
    end if;
    if this.state = 'unwinding' and nothing_stands(this.id) then
        if entered.state <> 'unwinding' then
            update saga set state = 'unwinding' where id = this.id;
        end if;
        this.state := 'closed';
    end if;
    if entered.n = 0 or this is distinct from entered then
        line_body := line_body || jsonb_build_object('saga', saga_changes(entered, this));
    end if;
    this.n := this.n + 1;
    this.head := line_hash(this.head, this.id, this.n, line_at, line_event, line_body);
    update saga set state = this.state, epoch = this.epoch, owner = this.owner, report = this.report,
        part = this.part, n = this.n, head = this.head
    where id = this.id;
    insert into journal values (this.id, this.n, line_at, line_event, line_body, this.head);
    return this;
end $$;
