/** All scopes. */
export const SCOPES = [
  'email',
  'email.modify',
  'email.read_only',
  'email.send',
  'email.folders_and_labels',
  'email.metadata',
  'email.drafts',
  'email.send_as',
  'calendar',
  'calendar.read_only',
  'calendar.free_busy',
  'contacts',
  'contacts.read_only',
  'room_resources.read_only',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that allow each kind of use. One of them is enough. */
export const SCOPES_FOR = {
  readMail: ['email', 'email.modify', 'email.read_only'],
  modifyMail: ['email', 'email.modify'],
  moveMail: ['email', 'email.modify', 'email.folders_and_labels'],
  readFolders: [
    'email',
    'email.modify',
    'email.read_only',
    'email.folders_and_labels',
    'email.metadata',
  ],
  writeFolders: ['email', 'email.modify', 'email.folders_and_labels'],
  readDrafts: ['email', 'email.modify', 'email.read_only', 'email.drafts'],
  writeDrafts: ['email', 'email.modify', 'email.drafts'],
  readFiles: ['email', 'email.modify', 'email.read_only', 'email.drafts'],
  writeFiles: ['email', 'email.modify', 'email.drafts', 'email.send'],
  sendMail: ['email', 'email.send'],
  /** To read contacts that were built from senders and recipients of messages. */
  readPeopleOfMail: ['email', 'email.modify', 'email.read_only', 'email.metadata'],
  /** To see the job statuses of changes to messages. */
  mailJobStatuses: ['email', 'email.modify', 'email.read_only', 'email.folders_and_labels'],
  /** To get webhooks about messages and threads. */
  mailWebhooks: [
    'email',
    'email.modify',
    'email.read_only',
    'email.send',
    'email.folders_and_labels',
    'email.metadata',
    'email.drafts',
  ],
  readCalendar: ['calendar', 'calendar.read_only'],
  writeCalendar: ['calendar'],
  readFreeBusy: ['calendar', 'calendar.read_only', 'calendar.free_busy'],
  readRooms: ['room_resources.read_only'],
  readContacts: ['contacts', 'contacts.read_only'],
  writeContacts: ['contacts'],
} as const satisfies Record<string, readonly Scope[]>;

/** Whether the scopes (`null` = every scope) allow the use. */
export function allows(scopes: readonly Scope[] | null, anyOf: readonly Scope[]): boolean {
  return scopes === null || anyOf.some((scope) => scopes.includes(scope));
}

export function isScope(value: string): value is Scope {
  return (SCOPES as readonly string[]).includes(value);
}

/** Narrower scopes that a scope contains. */
const CONTAINED: Readonly<Partial<Record<Scope, readonly Scope[]>>> = {
  email: SCOPES.filter((scope) => scope.startsWith('email.')),
  'email.modify': ['email.read_only', 'email.metadata'],
  'email.read_only': ['email.metadata'],
  calendar: ['calendar.read_only', 'calendar.free_busy'],
  'calendar.read_only': ['calendar.free_busy'],
  contacts: ['contacts.read_only'],
};

const covers = (agreed: readonly Scope[], scope: Scope): boolean =>
  agreed.some((one) => one === scope || CONTAINED[one]?.includes(scope));

/** Whether `agreed` covers every scope in `asked`. `null` = every scope. */
export function isWithin(asked: readonly Scope[] | null, agreed: readonly Scope[] | null): boolean {
  return agreed === null || (asked ?? SCOPES).every((scope) => covers(agreed, scope));
}

/**
 * Limits `asked` (scopes of the grant or the integration) to the scopes that the user has agreed
 * to. `null` = every scope.
 */
export function restrict(
  asked: readonly Scope[] | null,
  agreed: readonly Scope[] | null,
): Scope[] | null {
  if (asked === null || agreed === null) {
    const limiting = asked ?? agreed;
    return limiting && [...limiting];
  }
  return SCOPES.filter(
    (scope) =>
      (asked.includes(scope) && covers(agreed, scope)) ||
      (agreed.includes(scope) && covers(asked, scope)),
  );
}
