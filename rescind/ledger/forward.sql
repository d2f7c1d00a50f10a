-- The forward wrapper's statements: begin before the call, remember between, finish after it.

create or replace function begin(
    saga_id text, caller_epoch int, effect_key text, place int[], tool_name text, tool_version int,
    tool_repeat text, request_digest text, request_body jsonb, ttl float8, run text, approval jsonb
) returns jsonb language plpgsql as $$
declare
    entered saga := enter_in_step(saga_id, caller_epoch);
    this saga := entered;
    was effect := find_effect(saga_id, effect_key);
    become effect := was;
    all_proven boolean := cardinality(was.unproven) = 0;
    ask boolean := false;
    approved jsonb := approval;
begin
    if this.state <> 'open' then
        return refused('saga_not_open', 'saga', this.state);
    elsif this.owner is null and sibling_in_doubt(saga_id) then
        return refused('sibling_in_doubt', 'saga', this.state);
    end if;
    if was.key is not null then
        if was.state = 'in_doubt' then
            return refused('in_doubt', 'effect', was.state);
        elsif was.digest not in ('', request_digest) and (was.state <> 'absent' or was.fenced) then
            return refused('key_reused', 'effect', was.state);
        elsif was.state = 'applied' then
            return jsonb_build_object('answer', 'replay', 'result', was.result);
        elsif was.fenced then
            return refused('fenced', 'effect', was.state);
        elsif was.state not in ('intended', 'absent') then
            return refused('decided', 'effect', was.state);
        end if;
    end if;
    if not all_proven then
        if was.repeat = 'never' then
            return refused('unproven', 'effect', was.state);
        elsif was.repeat = 'looked_up' then
            if was.landing > clock_timestamp() then
                return jsonb_build_object('answer', 'busy', 'wait', seconds_until(was.landing));
            end if;
            ask := true;
        end if;
    end if;
    if jsonb_typeof(approval) = 'object' then  -- people were asked; a text says who allowed it beforehand
        approved := use_gate(effect_key, approval ->> 'digest', run);
        if approved is null then
            return refused('not_approved', 'effect', coalesce(was.state, 'absent'));
        end if;
    end if;

    if all_proven then
        -- Nothing of an earlier request counts any more, nor what was there before it.
        become := blank_effect();
        become.key := effect_key;
        become.saga := saga_id;
        become.seq := place;
        become.tool := tool_name;
        become.version := tool_version;
        become.repeat := tool_repeat;
        become.digest := request_digest;
        become.request := request_body;
        become.attempt := was.attempt;
    end if;
    become.state := 'intended';
    become.attempt := become.attempt + 1;
    become.unproven := become.unproven || become.attempt;
    become.landing := greatest(become.landing, in_seconds(ttl));
    this.owner := run;
    perform store('begin', entered, this, was, become, jsonb_build_object('run', run, 'approval', approved));
    return jsonb_build_object(
        'answer', 'go', 'attempt', become.attempt, 'ask', ask, 'proven', all_proven, 'before', become.before);
end $$;

create or replace function remember(
    saga_id text, caller_epoch int, effect_key text, attempt_n int, before_image jsonb
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, caller_epoch);
    was effect := find_effect(saga_id, effect_key);
    become effect := was;
begin
    if was.key is null or was.state <> 'intended' or was.fenced or attempt_n <> all (was.unproven) then
        raise 'Attempt % of % must not act: the effect is % or being settled. Nothing was changed.',
            attempt_n, effect_key, coalesce(was.state, 'not on record') using errcode = 'RS002';
    end if;
    if was.before is null or was.unproven = array[attempt_n] then
        become.before := before_image;
        perform store('remember', entered, entered, was, become, jsonb_build_object('attempt', attempt_n));
    end if;
    return jsonb_build_object('before', become.before);
end $$;

-- The attempt reports that the effect stands.
create or replace function finish_applied(
    was effect, attempt_n int, result_body jsonb, attempt_changed boolean, attempt_found boolean
) returns effect language plpgsql as $$
declare
    become effect := was;
    reports boolean := attempt_n = any (was.unproven);
    acted boolean := attempt_changed and not attempt_found;
    rest int[] := array_remove(was.unproven, attempt_n);
begin
    become.unproven := rest;
    if was.state in ('undone', 'resolved', 'applied', 'undoing', 'stuck') then
        if not reports then
            return was;  -- the same report once more
        end if;
        if was.found and rest = '{}' then
            -- What the lookup saw can only be this attempt's work.
            become.found := false;
            return become;
        end if;
    end if;
    if was.state in ('applied', 'undoing', 'stuck') then
        become.dirty := was.dirty
            or (acted and (was.state <> 'applied' or was.repeat is distinct from 'deduplicated'));
        become.changed := was.changed or attempt_changed;
        -- What the lookup saw may have been this attempt's work, so another one that reports later has made another.
        become.found := was.found and not acted;
        return become;
    end if;
    become.fenced := was.fenced or was.state <> 'intended';
    become.state := 'applied';
    become.result := coalesce(result_body, was.result);
    become.changed := attempt_changed or rest <> '{}';
    become.found := rest <> '{}' and not acted;
    become.error := null;
    return become;
end $$;

-- The attempt cannot tell; it may still land.
create or replace function finish_unknown(was effect, attempt_n int, late float8) returns effect
language plpgsql as $$
declare
    become effect := was;
    alone boolean := was.unproven = array[attempt_n];
begin
    if attempt_n <> all (was.unproven) or (was.found and alone and was.state in ('undone', 'resolved')) then
        return was;
    end if;
    become.landing := greatest(
        in_seconds(late), case when alone and was.state = 'intended' then '-infinity' else was.landing end);
    if was.state in ('absent', 'undone') then
        become.state := 'in_doubt';
        become.fenced := true;
    end if;
    return become;
end $$;

-- The attempt proves that it did nothing; `final` if it is not to be tried again.
create or replace function finish_nothing(was effect, attempt_n int, final boolean) returns effect
language plpgsql as $$
declare
    become effect := was;
begin
    if attempt_n <> all (was.unproven) then
        return was;
    end if;
    become.unproven := array_remove(was.unproven, attempt_n);
    if become.unproven = '{}' then
        become.landing := '-infinity';
        if was.state = 'in_doubt' or (was.state = 'intended' and (final or was.fenced)) then
            become.state := 'absent';
        end if;
    end if;
    return become;
end $$;

-- A report on an effect that the ledger does not know, which was restored from an older copy.
create or replace function finish_unrecorded(
    saga_id text, effect_key text, place int[], attempt_n int, attempt_outcome text, late float8
) returns effect language plpgsql as $$
declare
    become effect := blank_effect();
begin
    become.key := effect_key;
    become.saga := saga_id;
    become.seq := place;
    become.state := 'in_doubt';
    become.fenced := true;
    become.attempt := attempt_n;
    if attempt_outcome = 'unknown' then
        become.unproven := array[attempt_n];
        become.landing := in_seconds(late);
    end if;
    return become;
end $$;

-- Never refused, whoever asks, and whatever the epoch: the report says what has happened in the world.
create or replace function finish(
    saga_id text, effect_key text, place int[], attempt_n int, attempt_outcome text, result_body jsonb,
    attempt_changed boolean, attempt_found boolean, late float8, error_text text
) returns jsonb language plpgsql as $$
declare
    entered saga := enter(saga_id, null);
    was effect := find_effect(saga_id, effect_key);
    become effect := was;
begin
    if was.key is null then
        if attempt_outcome in ('nothing', 'refused') then
            return jsonb_build_object('state', 'absent', 'unproven', '{}'::int[]);
        end if;
        become := finish_unrecorded(saga_id, effect_key, place, attempt_n, attempt_outcome, late);
        become.result := result_body;
    else
        become := case attempt_outcome
            when 'applied' then finish_applied(was, attempt_n, result_body, attempt_changed, attempt_found)
            when 'unknown' then finish_unknown(was, attempt_n, late)
            else finish_nothing(was, attempt_n, attempt_outcome = 'refused')
        end;
    end if;
    if become is distinct from was then
        become.error := coalesce(error_text, become.error);
        perform store('finish', entered, entered, was, become,
            jsonb_build_object('attempt', attempt_n, 'outcome', attempt_outcome));
        -- One of these that is lost in a crash leaves an unproven attempt, which is settled like any other.
        -- Every other report opens what was believed finished, so it waits for the disk.
        if was.state = 'intended' and attempt_outcome <> 'unknown' then
            perform set_config('synchronous_commit', 'off', true);
        end if;
    end if;
    return jsonb_build_object('state', become.state, 'unproven', become.unproven);
end $$;
