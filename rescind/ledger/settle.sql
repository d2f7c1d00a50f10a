-- Settling: let nobody act any more, wait until everybody has landed, and then believe the lookup.

create or replace function tombstone(saga_id text, effect_key text, place int[]) returns effect
language plpgsql as $$
declare
    become effect := blank_effect();
begin
    become.key := effect_key;
    become.saga := saga_id;
    become.seq := place;
    become.state := 'absent';
    become.fenced := true;
    return become;
end $$;

create or replace function fence(saga_id text, caller_epoch int, effect_key text, place int[]) returns jsonb
language plpgsql as $$
declare
    entered saga := enter_in_step(saga_id, caller_epoch);
    was effect := find_effect(saga_id, effect_key);
    become effect := was;
begin
    if was.key is null then
        become := tombstone(saga_id, effect_key, place);
    else
        become.fenced := true;
        if was.state = 'intended' and was.unproven = '{}' then
            become.state := 'absent';
        end if;
    end if;
    if become is distinct from was then
        perform store('fence', entered, entered, was, become);
    end if;
    return jsonb_build_object(
        'state', become.state, 'result', become.result, 'request', become.request, 'before', become.before,
        'wait', case when become.unproven = '{}' then 0 else seconds_until(become.landing) end);
end $$;

create or replace function settle(
    saga_id text, caller_epoch int, effect_key text, verdict text, result_body jsonb, note text
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    was effect := known_effect(saga_id, effect_key);
    become effect := was;
begin
    if verdict not in ('applied', 'absent', 'in_doubt') then
        raise '"%" is no verdict on an effect that is settled. Nothing was changed.', verdict
            using errcode = 'RS003';
    elsif not was.fenced then
        raise 'Effect % is not fenced, so it cannot be settled. Nothing was changed.', effect_key
            using errcode = 'RS003';
    elsif was.state not in ('intended', 'in_doubt') then
        return jsonb_build_object('answer', 'settled', 'state', was.state);
    elsif verdict = 'absent' and was.landing > clock_timestamp() then
        return jsonb_build_object('answer', 'wait', 'wait', seconds_until(was.landing));
    end if;
    become.state := verdict;
    become.result := coalesce(result_body, was.result);
    become.found := verdict = 'applied' and was.unproven <> '{}';
    become.error := coalesce(note, was.error);
    if become is distinct from was then
        perform store('settle', entered, entered, was, become);
    end if;
    return jsonb_build_object('answer', 'settled', 'state', become.state);
end $$;
