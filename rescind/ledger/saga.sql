-- Statements on the whole saga, by the workflow that owns it: seal, unwind, report.

create or replace function standing_keys_digest(saga_id text) returns text language sql stable as $$
    select encode(sha256(coalesce(
        string_agg(convert_to(octet_length(key) || ':' || key || ',', 'utf8'), ''::bytea order by key),
        ''::bytea)), 'hex')
    from effect
    where saga = saga_id and state = 'applied'
$$;

create or replace function seal(saga_id text, caller_epoch int, keys_digest text) returns jsonb
language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    this saga := entered;
begin
    if this.state not in ('open', 'sealed', 'committed') then
        return refused('saga_not_open', 'saga', this.state);
    elsif this.state = 'open' and exists (
        select from effect
        where saga = saga_id and (dirty or state in ('intended', 'undoing', 'stuck', 'in_doubt'))
    ) then
        return refused('unsettled', 'saga', this.state);
    elsif standing_keys_digest(saga_id) <> keys_digest then
        return refused('keys_differ', 'saga', this.state);
    elsif this.state = 'open' then
        this.state := 'sealed';
        perform store('seal', entered, this, null, null);
    end if;
    return jsonb_build_object('answer', 'sealed');
end $$;

-- An effect as an unwinding needs it, without what it was asked for and what it has answered.
create or replace function in_short(e effect) returns jsonb language sql immutable as $$
    select jsonb_build_object('key', e.key, 'seq', e.seq, 'tool', e.tool, 'version', e.version,
        'state', e.state, 'changed', e.changed)
$$;

drop function if exists unwind(text, int);  -- before it had a limit

-- Answers with the newest effects that stand, so many at most; with all of them where the limit is null.
create or replace function unwind(saga_id text, caller_epoch int, row_limit int) returns jsonb
language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    this saga := entered;
    was effect;
begin
    if this.state = 'committed' then
        raise 'Saga % is committed; it has to be claimed before it is undone. Nothing was changed.', saga_id
            using errcode = 'RS003';
    elsif this.state in ('open', 'sealed') then
        this.state := 'unwinding';
        this := store('unwind', entered, this, null, null);
    end if;
    for was in select * from effect as e where e.saga = saga_id and is_left(e) limit 1 loop
        perform refuse_left(this, was);
    end loop;
    for was in select * from effect as e where e.saga = saga_id and is_no_op(e) order by e.seq desc loop
        this := store('unwind', this, this, was, undone_no_op(was));
    end loop;
    return jsonb_build_object('standing', (
        select coalesce(jsonb_agg(in_short(e) order by seq desc, key desc), '[]')
        from (
            select * from effect
            where saga = saga_id and state in ('intended', 'applied', 'undoing', 'stuck', 'in_doubt')
            order by seq desc, key desc limit row_limit) as e));
end $$;

-- The effects that stand of a part of an open saga, with no-ops undone by this; `place` is the part's own.
create or replace function part(saga_id text, caller_epoch int, place int[]) returns jsonb language plpgsql as $$
declare
    this saga := enter(saga_id, caller_epoch);
    was effect;
begin
    for was in
        select * from effect as e
        where e.saga = saga_id and e.seq[:cardinality(place)] = place and is_no_op(e) order by e.seq desc
    loop
        this := store('unwind', this, this, was, undone_no_op(was));
    end loop;
    return jsonb_build_object('standing', (
        select coalesce(jsonb_agg(in_short(e) order by seq desc, key desc), '[]')
        from effect as e
        where saga = saga_id and seq[:cardinality(place)] = place
          and state in ('intended', 'applied', 'undoing', 'stuck', 'in_doubt')));
end $$;

-- Which of these keys have no row.
create or replace function missing(keys text[]) returns jsonb language sql stable as $$
    select jsonb_build_object('missing', coalesce(jsonb_agg(k order by k), '[]'))
    from unnest(keys) as k
    where not exists (select from effect where key = k)
$$;

create or replace function report(saga_id text, caller_epoch int, report_body jsonb) returns jsonb
language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    this saga := entered;
begin
    this.report := report_body;
    if this.state = 'open' then
        this.state := 'unwinding';
    end if;
    this := store('report', entered, this, null, null);
    return jsonb_build_object('state', this.state);
end $$;
