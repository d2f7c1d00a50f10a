-- The undo wrapper's statements: undo_begin before the compensation, undo_finish after it, give_up in the end.

create or replace function nothing_to_undo() returns jsonb language sql immutable as $$
    select '{"grade": "nothing", "detail": null}'::jsonb
$$;

create or replace function is_no_op(was effect) returns boolean language sql immutable as $$
    select was.state = 'applied' and not was.changed and not was.dirty and was.unproven = '{}'
$$;

-- Whether a person has decided, and something of it is left: it was let stand, or the lookup says so.
create or replace function is_left(was effect) returns boolean language sql immutable as $$
    select was.state = 'resolved' and coalesce(was.restoration ->> 'grade' = 'residue', false)
$$;

-- People speak when the unwinding is over; who unwinds after that, in the same epoch, is a run that was reset.
create or replace function refuse_left(this saga, was effect) returns void language plpgsql as $$
begin
    if this.epoch = 0 and is_left(was) then
        raise 'The unwinding is over, and a person has decided what is left of %. Nothing was changed.', was.key
            using errcode = 'RS003';
    end if;
end $$;

create or replace function undone_no_op(was effect) returns effect language plpgsql as $$
begin
    was.state := 'undone';
    was.fenced := true;
    was.restoration := nothing_to_undo();
    return was;
end $$;

-- How long an attempt or an earlier try may still act.
create or replace function undo_busy(was effect) returns float8 language sql volatile as $$
    select greatest(
        case when was.unproven <> '{}' then seconds_until(was.landing) else 0 end,
        seconds_until(was.undo_landing))
$$;

create or replace function undo_begin(
    saga_id text, caller_epoch int, effect_key text, place int[], ttl float8, whole boolean
) returns jsonb language plpgsql as $$
declare
    entered saga := enter_in_step(saga_id, caller_epoch);
    this saga := entered;
    was effect := find_effect(saga_id, effect_key);
    become effect := was;
    wait float8 := undo_busy(was);
    answer jsonb;
begin
    perform refuse_left(this, was);
    -- Whoever speaks in a later epoch of a committed saga has claimed a part of it.
    if (this.state = 'committed' and this.epoch = 0) or (this.state = 'sealed' and not whole) then
        return refused('saga_committed', 'saga', this.state);
    elsif whole and this.state in ('open', 'sealed') then
        this.state := 'unwinding';
    end if;

    if was.key is null then
        become := tombstone(saga_id, effect_key, place);
        answer := jsonb_build_object('answer', 'done', 'restoration', nothing_to_undo());
    elsif is_no_op(was) then
        become := undone_no_op(was);
        answer := jsonb_build_object('answer', 'done', 'restoration', nothing_to_undo());
    elsif was.state in ('absent', 'undone', 'resolved') then
        become.fenced := true;
        answer := jsonb_build_object(
            'answer', 'done', 'restoration', coalesce(was.restoration, nothing_to_undo()));
    elsif was.state in ('intended', 'in_doubt') then
        answer := refused('unsettled', 'effect', was.state);
    elsif wait > 0 then
        become.fenced := true;
        answer := jsonb_build_object('answer', 'busy', 'wait', wait);
    else
        become.state := 'undoing';
        become.fenced := true;
        become.undo_try := was.undo_try + 1;
        become.undo_landing := in_seconds(ttl);
        answer := jsonb_build_object(
            'answer', 'go', 'attempt', become.undo_try, 'request', was.request, 'before', was.before,
            'result', was.result, 'unproven', was.unproven, 'tool', was.tool, 'version', was.version);
    end if;
    if become is distinct from was or this.state <> entered.state then
        perform store('undo_begin', entered, this, was, become);
    end if;
    return answer;
end $$;

-- Taken from anyone, whatever the epoch; a conflict or a failure only from the last try.
create or replace function undo_finish(
    saga_id text, effect_key text, attempt_n int, try_outcome text, restoration_body jsonb, error_text text
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, null);
    was effect := known_effect(saga_id, effect_key);
    become effect := was;
    is_last boolean := attempt_n = was.undo_try;
begin
    if is_last and was.state in ('undoing', 'stuck') then
        become.undo_landing := '-infinity';
    end if;
    if try_outcome = 'undone' and was.state in ('undoing', 'stuck') then
        become.state := case when was.dirty then 'applied' else 'undone' end;
        become.dirty := false;
        become.restoration := restoration_body;
        become.error := null;
    elsif try_outcome = 'conflict' and is_last and was.state = 'undoing' then
        become.state := 'stuck';
        become.restoration := restoration_body;
        become.error := error_text;
    elsif try_outcome = 'failed' and is_last and was.state = 'undoing' then
        become.error := error_text;
    end if;
    if become is distinct from was then
        perform store('undo_finish', entered, entered, was, become,
            jsonb_build_object('try', attempt_n, 'outcome', try_outcome));
    end if;
    return jsonb_build_object('state', become.state);
end $$;

create or replace function give_up(saga_id text, caller_epoch int, effect_key text, why text) returns jsonb
language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    was effect := known_effect(saga_id, effect_key);
    become effect := was;
begin
    if was.state in ('applied', 'undoing') then
        if entered.state in ('sealed', 'committed') and entered.epoch = 0 then
            raise 'Saga % is %, so none of its effects is given up. Nothing was changed.', saga_id, entered.state
                using errcode = 'RS003';
        end if;
        become.state := 'stuck';
        become.fenced := true;
        become.error := why;
        perform store('give_up', entered, entered, was, become);
    end if;
    return jsonb_build_object('state', become.state);
end $$;
