import { isDeepStrictEqual } from 'node:util';
import type { Recurrence } from '../recurrence/series-source.ts';
import type { IcalFields, IcalParticipant } from './ical-fields.ts';

/** Result of a three-way merge. */
export interface Merge {
  /** The fields to write; all others stay as they are at the provider. */
  write: Partial<IcalFields>;
  /** Names of fields that both sides changed to different values. */
  conflicts: string[];
}

/**
 * Merges our change with the current state at the provider.
 * @param base the state that our change was based on; `null` if unknown, then our values win
 */
export function mergeFields(base: IcalFields | null, ours: IcalFields, theirs: IcalFields): Merge {
  const write: Partial<Record<keyof IcalFields, unknown>> = {};
  const conflicts: string[] = [];
  for (const name of Object.keys(ours) as (keyof IcalFields)[]) {
    if (base && isDeepStrictEqual(ours[name], base[name])) continue;
    if (name === 'participants') {
      const merged = mergeParticipants(base?.participants ?? theirs.participants, ours, theirs);
      if (!isDeepStrictEqual(merged, theirs.participants)) write.participants = merged;
    } else if (isDeepStrictEqual(ours[name], theirs[name])) {
      continue;
    } else if (name === 'recurrence' && base?.recurrence && ours.recurrence && theirs.recurrence) {
      const merged = mergeRecurrence(base.recurrence, ours.recurrence, theirs.recurrence);
      if (!merged) conflicts.push(name);
      else if (!isDeepStrictEqual(merged, theirs.recurrence)) write.recurrence = merged;
    } else if (base && !isDeepStrictEqual(theirs[name], base[name])) {
      conflicts.push(name);
    } else {
      write[name] = ours[name];
    }
  }
  // The zone of a series decides how its times are written, so write both together.
  if (write.when && write.recurrence === undefined)
    write.recurrence = theirs.recurrence ?? undefined;
  if (write.recurrence === undefined) delete write.recurrence;
  return { write: write as Partial<IcalFields>, conflicts };
}

/** Splits a recurrence into its rules and its exclusions, with one EXDATE line for each date. */
function splitRecurrence({ rrule, timezone }: Recurrence): { rules: unknown; left: string[] } {
  const isExclusion = (line: string) => /^EXDATE[;:]/i.test(line);
  const left = rrule.filter(isExclusion).flatMap((line) => {
    const colon = line.indexOf(':') + 1;
    return line
      .slice(colon)
      .split(',')
      .map((value) => `${line.slice(0, colon)}${value}`);
  });
  return { rules: [timezone, ...rrule.filter((line) => !isExclusion(line))], left };
}

/**
 * Merges exclusions that either side added or removed; `undefined` if both sides changed the rules
 * differently.
 */
function mergeRecurrence(
  base: Recurrence,
  ours: Recurrence,
  theirs: Recurrence,
): Recurrence | undefined {
  const [was, our, their] = [splitRecurrence(base), splitRecurrence(ours), splitRecurrence(theirs)];
  const oursChanged = !isDeepStrictEqual(our.rules, was.rules);
  const theirsChanged = !isDeepStrictEqual(their.rules, was.rules);
  if (oursChanged && theirsChanged && !isDeepStrictEqual(our.rules, their.rules)) return undefined;
  const kept = their.left.filter((line) => our.left.includes(line) || !was.left.includes(line));
  const added = our.left.filter((line) => !was.left.includes(line) && !their.left.includes(line));
  if (!oursChanged && added.length === 0 && kept.length === their.left.length) return theirs;
  const { rrule, timezone } = oursChanged ? ours : theirs;
  return {
    rrule: [...rrule.filter((line) => !/^EXDATE[;:]/i.test(line)), ...kept, ...added],
    timezone,
  };
}

/** Merges participants that either side added, removed or changed, by address. */
function mergeParticipants(
  base: readonly IcalParticipant[],
  { participants: ours }: IcalFields,
  { participants: theirs }: IcalFields,
): IcalParticipant[] {
  const find = (list: readonly IcalParticipant[], email: string) =>
    list.find((one) => one.email === email);
  const kept = theirs.flatMap((their) => {
    const [was, our] = [find(base, their.email), find(ours, their.email)];
    // Missing on our side: we removed the participant, or the other side added one.
    if (!our) return was ? [] : [their];
    return [
      {
        ...their,
        name: was && our.name === was.name ? their.name : our.name,
        status: was && our.status === was.status ? their.status : our.status,
      },
    ];
  });
  // Added by us. A participant whom the other side removed stays removed.
  const added = ours.filter(({ email }) => !find(theirs, email) && !find(base, email));
  return [...kept, ...added];
}
