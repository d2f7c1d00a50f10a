-- Statements of the sweeper and of the undo after the fact, and the look back at an earlier saga of a workflow id.

drop function if exists claim(text, int, text, boolean);     -- before it had the last three parameters
drop function if exists claim(text, int, text, text, text);  -- before a part was on record
drop function if exists claim(text, int, text, text, text, text[]);  -- before it used up an agreement
drop function if exists sweep(text, int);                    -- before it went on from where it had stopped

-- The keys of the part of a committed saga that is being undone; `store` takes off what stands no more.
alter table saga add column if not exists part text[] not null default '{}';
create index if not exists saga_in_part on saga (id) where part <> '{}';

create or replace function promote(saga_id text) returns jsonb language plpgsql as $$
declare
    entered saga;
    this saga;
begin
    select * into entered from saga where id = saga_id for no key update;
    this := entered;
    if this.state = 'sealed' then
        this.state := 'committed';
        perform store('promote', entered, this, null, null);
    end if;
    return jsonb_build_object('state', this.state);
end $$;

create or replace function known_saga(saga_id text) returns saga language plpgsql as $$
begin
    if not exists (select from saga where id = saga_id) then
        raise 'The ledger has no saga %. Nothing was changed.', saga_id using errcode = 'RS003';
    end if;
    return enter(saga_id, null);
end $$;

-- `extent`: 'unfinished' takes no committed saga, 'whole' takes one too, 'part' takes only one, and leaves it committed.
-- What an earlier claim of a part has left stays on record beside it, and the sweeper undoes it afterwards.
-- Where `agreed` is given, it is the digest of what people have to have agreed to; that is used up.
create or replace function claim(
    saga_id text, caller_epoch int, who text, extent text, why text, keys text[], agreed text
) returns jsonb language plpgsql as $$
declare
    entered saga := known_saga(saga_id);
    this saga := entered;
begin
    if this.epoch = caller_epoch + 1 and this.owner = who then
        return jsonb_build_object('answer', 'claimed', 'epoch', this.epoch);  -- the reply was lost
    end if;
    perform enter(saga_id, caller_epoch);
    if this.state = 'closed' then
        return refused('saga_closed', 'saga', this.state);
    elsif extent = 'unfinished' and this.state = 'committed' then
        return refused('saga_committed', 'saga', this.state);
    elsif extent = 'part' and this.state <> 'committed' then
        return refused('not_committed', 'saga', this.state);
    elsif agreed is not null and use_gate(undo_question(saga_id), agreed, who) is null then
        return refused('not_approved', 'saga', this.state);
    elsif extent = 'part' then
        this.part := array(select key from effect as e
            where e.saga = saga_id and key = any (this.part || keys) and not is_no_op(e)
              and state not in ('absent', 'undone', 'resolved') order by seq, key);
    else
        this.state := 'unwinding';
    end if;
    this.epoch := this.epoch + 1;
    this.owner := who;
    perform store('claim', entered, this, null, null, jsonb_build_object('why', why));
    return jsonb_build_object('answer', 'claimed', 'epoch', this.epoch);
end $$;

-- JSON that is small enough to be looked through; null where it is not.
create or replace function if_small(value jsonb) returns jsonb language sql immutable as $$
    select case when pg_column_size(value) <= 65536 then value end
$$;

-- How long ago the saga was sealed last, in seconds; null if it never was.
create or replace function since_seal(saga_id text) returns float8 language sql stable as $$
    select extract(epoch from clock_timestamp() - max(at))::float8
    from journal where saga = saga_id and event = 'seal'
$$;

-- A saga with what each of its effects did.
create or replace function outline(saga_id text) returns jsonb language sql stable as $$
    select jsonb_build_object(
        'state', s.state, 'epoch', s.epoch, 'owner', s.owner, 'part', s.part, 'since_seal', since_seal(s.id),
        'effects', (
            select coalesce(jsonb_agg(jsonb_build_object(
                'key', key, 'seq', seq, 'tool', tool, 'version', version, 'state', state, 'changed', changed,
                'no_op', is_no_op(e), 'request', if_small(request), 'before', if_small(before),
                'result', if_small(result), 'restoration', restoration, 'error', left(error, 2000)) order by seq, key), '[]')
            from effect as e where e.saga = s.id))
    from saga as s where s.id = saga_id
$$;

-- The ids of one namespace's sagas that the sweeper has to look at, from `after` on; each third reads its own index.
create or replace function unfinished_ids(namespace_id text, after text, row_limit int) returns setof text
language sql stable as $$
    (select id from saga
     where id > greatest(after, namespace_id || '/') collate "C" and id < (namespace_id || '0') collate "C"
       and state in ('open', 'sealed', 'unwinding')
     order by id limit row_limit)
    union
    (select id from saga
     where id > greatest(after, namespace_id || '/') collate "C" and id < (namespace_id || '0') collate "C"
       and part <> '{}'
     order by id limit row_limit)
    union
    (select distinct saga from effect
     where saga > greatest(after, namespace_id || '/') collate "C" and saga < (namespace_id || '0') collate "C"
       and state in ('stuck', 'in_doubt')
     order by saga limit row_limit)
    order by 1 limit row_limit
$$;

-- What the sweeper has to know of these sagas.
create or replace function looked_at(ids text[]) returns jsonb language sql stable as $$
    select jsonb_build_object('sagas', coalesce(jsonb_agg(found order by found.saga collate "C"), '[]'))
    from (
        select s.id as saga, s.state, s.epoch, s.owner, s.part,
            extract(epoch from clock_timestamp()
                - greatest(s.started, (select at from journal where saga = s.id and n = s.n)))::float8 as quiet,
            count(e.key) filter (where e.state in ('intended', 'applied', 'undoing', 'stuck', 'in_doubt')) as standing,
            count(e.key) filter (where (s.state <> 'committed' or e.key = any (s.part))
                and (e.state in ('intended', 'undoing') or (e.state = 'applied' and not is_no_op(e)))) as undoable,
            count(e.key) filter (where e.state in ('stuck', 'in_doubt')) as needs_person
        from saga as s left join effect as e on e.saga = s.id
        where s.id = any (ids)
        group by s.id
    ) as found
$$;

create or replace function sweep(namespace_id text, after text, row_limit int) returns jsonb
language sql stable as $$
    select looked_at(array(select unfinished_ids(namespace_id, after, row_limit)))
$$;

-- The ids of other namespaces with unfinished sagas, at which no sweeper has looked for so many seconds; the index is
-- read once for each namespace.
create or replace function unattended(namespace_id text, seconds float8) returns jsonb language sql stable as $$
    with recursive spaces (space) as (
        select (select split_part(id, '/', 1) from saga where state in ('open', 'sealed', 'unwinding') order by id limit 1)
        union all
        select (select split_part(id, '/', 1) from saga
                where id > (spaces.space || '0') collate "C" and state in ('open', 'sealed', 'unwinding') order by id limit 1)
        from spaces where space is not null)
    select jsonb_build_object('spaces', coalesce(jsonb_agg(space order by space), '[]'))
    from spaces
    where space <> namespace_id and not exists (
        select from watermark as w
        where w.namespace = space and w.looked_at > clock_timestamp() - make_interval(secs => seconds))
$$;

-- Whether an effect is in doubt in another saga of the same workflow id, whose row is 'namespace/workflow/run' too.
create or replace function sibling_in_doubt(saga_id text) returns boolean language plpgsql stable as $$
declare
    -- Everything up to the last slash; a workflow id may have slashes of its own, a run's id has none.
    beginning text := left(saga_id, -length(substring(saga_id from '[^/]*$')));
begin
    return exists (
        select from effect
        where saga >= beginning collate "C" and saga < (left(beginning, -1) || '0') collate "C"
          and state in ('stuck', 'in_doubt') and state = 'in_doubt'  -- the first names the index
          and strpos(substr(saga, length(beginning) + 1), '/') = 0 and saga <> saga_id);
end $$;
