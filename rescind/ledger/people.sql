-- What needs a person, and a person's word on it.

drop function if exists resolve(text, int, text, text, text, text, jsonb);  -- before it had the last two parameters

-- The effects of one saga that need a person, newest first: since when, and how they came to it.
create or replace function open_saga(saga_id text, row_limit int) returns jsonb language sql stable as $$
    with handed as (  -- every time that an effect was handed to a person
        select body ->> 'key' as key, min(at) as since, (array_agg(body ->> 'outcome' order by n desc))[1] as outcome
        from journal
        where saga = saga_id and body -> 'effect' ->> 'state' in ('stuck', 'in_doubt')
        group by body ->> 'key'
    ), found as (
        select e.key, e.seq, e.tool, e.version, e.request, e.before, e.state, e.error, e.undo_try, handed.since,
            case when e.state = 'in_doubt' then 'in_doubt'
                 when handed.outcome = 'conflict' then 'conflict'
                 when e.undo_try > 0 then 'failed'
                 else 'untried' end as why
        from effect as e join handed using (key)
        where e.saga = saga_id and e.state in ('stuck', 'in_doubt')
    )
    select jsonb_build_object(
        'id', s.id, 'state', s.state, 'epoch', s.epoch, 'owner', s.owner,
        'error', s.report ->> 'error', 'failed_at', s.report ->> 'failed_at',
        'total', (select count(*) from found),
        'effects', (
            select coalesce(jsonb_agg(f order by f.seq desc, f.key desc), '[]')
            from (select * from found order by seq desc, key desc limit row_limit) as f))
    from saga as s where s.id = saga_id
$$;

create or replace function open_effects(saga_id text, row_limit int) returns jsonb language sql stable as $$
    select jsonb_build_object('saga', open_saga(saga_id, row_limit))
$$;

-- The sagas of one namespace (or of all) that need a person, oldest first.
create or replace function desk(prefix text, row_limit int) returns jsonb language sql stable as $$
    select jsonb_build_object('sagas', coalesce(jsonb_agg(open_saga(id, row_limit) order by started), '[]'))
    from (
        select s.id, s.started
        from saga as s
        where starts_with(s.id, prefix)
          and exists (select from effect as e where e.saga = s.id and e.state in ('stuck', 'in_doubt'))
        order by s.started
        limit row_limit
    ) as open_sagas
$$;

create or replace function resolved_state(state text, verdict text) returns text language sql immutable as $$
    select case
        when verdict = 'retry' and state = 'stuck' then 'applied'
        when verdict = 'retry' and state = 'in_doubt' then 'in_doubt'  -- to be asked again
        when verdict in ('done', 'waive') and state in ('stuck', 'in_doubt') then 'resolved'
        when verdict = 'confirm' and state = 'in_doubt' then 'applied'
        when verdict = 'absent' and state = 'in_doubt' then 'absent'
    end
$$;

-- A word is taken once, by its id: said again because its answer was lost, it is answered by the state of now.
create or replace function word_taken(saga_id text, effect_key text, word text) returns boolean
language sql stable as $$
    select exists (
        select from journal
        where saga = saga_id and event = 'resolve' and body ->> 'key' = effect_key and body ->> 'word' = word)
$$;

create or replace function resolve(
    saga_id text, caller_epoch int, effect_key text, verdict text, who text, note text, result_body jsonb,
    word text, seen jsonb
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    was effect := known_effect(saga_id, effect_key);
    become effect := was;
    disagrees boolean := coalesce((seen ->> 'disagrees')::boolean, false);
begin
    if word is not null and word_taken(saga_id, effect_key, word) then
        return jsonb_build_object('answer', 'resolved', 'state', was.state);
    end if;
    become.state := resolved_state(was.state, verdict);
    if become.state is null then
        return refused('not_fitting', 'effect', was.state);
    elsif verdict = 'absent' and was.landing > clock_timestamp() then
        return jsonb_build_object('answer', 'wait', 'wait', seconds_until(was.landing));
    end if;
    become.fenced := true;
    if verdict = 'confirm' then
        become.result := coalesce(result_body, was.result);
        become.found := was.unproven <> '{}';
    elsif become.state = 'resolved' then
        become.dirty := false;
        -- Where the lookup still finds what was done by hand, it is not called clean.
        become.restoration := jsonb_build_object(
            'grade', case when verdict = 'done' and not disagrees then 'equivalent' else 'residue' end,
            'detail', concat_ws('; ',
                concat_ws(': ', case verdict when 'done' then 'done by hand, says ' else 'left standing, says ' end || who, note),
                case when disagrees then 'but ' || (seen ->> 'words') end));
    end if;
    perform store('resolve', entered, entered, was, become,
        jsonb_build_object('who', who, 'verdict', verdict, 'note', note, 'word', word, 'seen', seen));
    return jsonb_build_object('answer', 'resolved', 'state', become.state);
end $$;
