-- What people read (views) and what programs read (functions, for roles that may see no table).

create or replace view sagas as
select s.id, s.state, s.epoch, s.owner, s.started, s.report,
    count(e.key) as effects,
    count(e.key) filter (where e.state in ('intended', 'applied', 'undoing', 'stuck', 'in_doubt')) as standing,
    count(e.key) filter (where e.state in ('stuck', 'in_doubt')) as needs_person,
    count(e.key) filter (where e.state = 'resolved' and e.restoration ->> 'grade' = 'residue') as left_standing
from saga as s left join effect as e on e.saga = s.id
group by s.id;

create or replace view effects as
select saga, seq, key, tool, version, state, fenced, attempt, unproven, landing, changed, dirty, undo_try,
    request, before, result, restoration, error,
    found as recovered_by_lookup  -- a lookup says that it took effect; the attempt that made it has not reported
from effect;

create or replace view standing as
select e.saga, s.state as saga_state, e.seq, e.key, e.tool, e.state, e.result, e.error
from effect as e join saga as s on s.id = e.saga
where e.state in ('intended', 'applied', 'undoing', 'stuck', 'in_doubt');

create or replace view history as
select saga, n, at, event, body, encode(hash, 'hex') as hash,
    coalesce((body -> 'effect' -> 'found')::boolean, false) as recovered_by_lookup
from journal;

create or replace function version() returns jsonb language sql stable as $$
    select jsonb_build_object('version', max(v.version)) from rescind.installed as v
$$;

create or replace function list_sagas(prefix text, row_limit int) returns jsonb language sql stable as $$
    select jsonb_build_object('sagas', coalesce(jsonb_agg(found), '[]'))
    from (
        select id, state, epoch, owner, effects, standing, left_standing, started
        from sagas
        where starts_with(id, prefix)
        order by started desc
        limit row_limit
    ) as found
$$;

create or replace function open_tools(namespace_id text) returns jsonb language sql stable as $$
    select jsonb_build_object('tools', coalesce(jsonb_agg(found order by tool, version), '[]'))
    from (
        select distinct e.tool, e.version
        from saga as s join effect as e on e.saga = s.id
        where starts_with(s.id, namespace_id || '/') and e.tool <> ''
          and (e.state in ('stuck', 'in_doubt')
               or (s.state in ('open', 'sealed', 'unwinding') and e.state in ('intended', 'applied', 'undoing')))
    ) as found
$$;

create or replace function show(saga_id text) returns jsonb language sql stable as $$
    select jsonb_build_object(
        'saga', (select to_jsonb(s) - 'n' - 'head' from saga as s where s.id = saga_id),
        'effects', (select coalesce(jsonb_agg(e order by e.seq, e.key), '[]') from effect as e where e.saga = saga_id),
        'journal', (select coalesce(jsonb_agg(jsonb_build_object('n', n, 'at', at, 'event', event, 'body', body)
                        order by n), '[]') from journal where saga = saga_id))
$$;

-- Whole sagas with the text of their journals as it is hashed; also one whose row is gone while it has lines.
create or replace function on_record(prefix text, after text, row_limit int) returns jsonb language sql stable as $$
    select jsonb_build_object('sagas', coalesce(jsonb_agg(found order by found.id collate "C"), '[]'))
    from (
        select chosen.id,
            (select to_jsonb(s) || jsonb_build_object('head', encode(s.head, 'hex'))
             from saga as s where s.id = chosen.id) as saga,
            (select coalesce(jsonb_agg(e order by e.key), '[]') from effect as e where e.saga = chosen.id) as effects,
            (select coalesce(jsonb_agg(jsonb_build_object(
                'n', n, 'at', (extract(epoch from at) * 1000000)::bigint, 'event', event, 'body', body::text,
                'hash', encode(hash, 'hex')) order by n), '[]') from journal where saga = chosen.id) as lines
        from (
            (select id from saga where starts_with(id, prefix) and id > after order by id limit row_limit)
            union
            (select distinct saga from journal where starts_with(saga, prefix) and saga > after
             order by saga limit row_limit)
            order by 1 limit row_limit
        ) as chosen (id)
    ) as found
$$;
