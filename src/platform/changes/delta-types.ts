import { allows, type Scope, SCOPES_FOR } from '../auth/scopes.ts';

/** Scopes that allow reading each kind of object. One of them is enough. */
const SEEN_BY = {
  message: SCOPES_FOR.readMail,
  thread: SCOPES_FOR.readMail,
  file: SCOPES_FOR.readFiles,
  folder: SCOPES_FOR.readFolders,
  label: SCOPES_FOR.readFolders,
  draft: SCOPES_FOR.readDrafts,
  contact: SCOPES_FOR.readContacts,
  calendar: SCOPES_FOR.readCalendar,
  event: SCOPES_FOR.readCalendar,
} as const satisfies Record<string, readonly Scope[]>;

/** Kinds of objects whose changes appear in deltas. */
export type DeltaType = keyof typeof SEEN_BY;
export const DELTA_TYPES = Object.keys(SEEN_BY) as readonly DeltaType[];

/** An account needs one of these scopes to read deltas at all. */
export const DELTA_SCOPES: readonly Scope[] = [...new Set(Object.values(SEEN_BY).flat())];

/** Whether the scopes allow reading objects of this type. `null` = every scope. */
export function mayRead(scopes: readonly Scope[] | null, type: DeltaType): boolean {
  return allows(scopes, SEEN_BY[type]);
}
