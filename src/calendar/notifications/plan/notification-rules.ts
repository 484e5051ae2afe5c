import { isDeepStrictEqual } from 'node:util';
import type { ApplicationFeature } from '../../../platform/auth/plan.ts';
import { allows, type Scope, SCOPES_FOR } from '../../../platform/auth/scopes.ts';
import type { UrlOptions } from '../../../platform/egress/egress-policy.ts';
import { ForbiddenError, InvalidInputError } from '../../../platform/base/errors/domain-error.ts';
import type { QuotaConfig } from '../../../platform/config/sections/quota-config.ts';
import { REMINDER_ADDRESS } from './reminder-address.ts';
import { phoneRefusal } from '../../sms/phone-numbers.ts';
import type { EventFields } from '../../events/event-record.ts';
import { firstStart } from '../../../formats/recurrence/series-source.ts';
import { openSeries } from '../../../formats/recurrence/series.ts';
import {
  type Participant,
  participantKey,
  type StoredNotification,
} from '../../events/event-values.ts';

/** The rights of an account that notifications depend on. */
export interface NotificationRights {
  /** `null` means every scope. */
  scopes: readonly Scope[] | null;
  features: readonly ApplicationFeature[];
  /**
   * Whether the account can send mail. An account without a mailbox does not need the scope for
   * sending.
   */
  hasMailbox: boolean;
  /** Limits for one event. */
  quotas: Pick<QuotaConfig, 'event' | 'smsCountries'>;
}

/** Decides which addresses may be called; implemented by `EgressClient`. */
export interface AddressPolicy {
  /** @throws {InvalidInputError} with `field` in the message */
  normalizeUrl(raw: string, field: string, options: UrlOptions): string;
}

/** Most participants that an error text names. */
const NAMED = 10;

const listed = (names: readonly string[]): string =>
  names.slice(0, NAMED).join(', ') +
  (names.length > NAMED ? ` and ${names.length - NAMED} more` : '');

/**
 * Checks the notifications of an event as it is after the change. An event without notifications
 * always passes: `notifications: []` is allowed also for a recurring event.
 * @param before the stored event; a notification that has not changed needs no rights. `null` for
 *   a new event
 * @throws {InvalidInputError} if a change makes a recurring event use notifications, a recipient or
 *   the sender's mailbox is missing, an address or phone number is not allowed, or there are too
 *   many reminders
 * @throws {ForbiddenError} if the account's scopes or the application's features do not allow it
 */
export function assertNotificationsAllowed(
  before: Pick<EventFields, 'notifications' | 'recurrence'> | null,
  {
    notifications,
    participants,
    recurrence,
  }: Pick<EventFields, 'notifications' | 'participants' | 'recurrence'>,
  rights: NotificationRights,
  addresses: AddressPolicy,
): void {
  if (notifications.length === 0) return;
  const added = notifications.filter(
    (each) => !before?.notifications.some((stored) => isDeepStrictEqual(stored, each)),
  );
  if (added.length > 0) assertRights(added, rights);
  for (const [index, notification] of notifications.entries()) {
    if (notification.type === 'webhook' && added.includes(notification))
      addresses.normalizeUrl(notification.url, `notifications.${index}.url:`, REMINDER_ADDRESS);
  }
  if (recurrence && before && (added.length > 0 || !before.recurrence))
    throw new InvalidInputError(
      'notifications: a recurring event cannot be updated to use notifications; give them when you create it',
    );
  assertNumber(notifications, participants, rights.quotas.event);
  assertReachable(new Set(notifications.map(({ type }) => type)), participants);
  if (notifications.some(({ type }) => type === 'sms'))
    assertTextable(participants, rights.quotas.smsCountries);
}

/**
 * Checks that a new recurring event with notifications has an occurrence at its own start: the
 * notifications are about that one (ADR 0072).
 * @throws {InvalidInputError}
 */
export function assertFirstOccurrence({
  notifications,
  recurrence,
  when,
}: Pick<EventFields, 'notifications' | 'recurrence' | 'when'>): void {
  if (notifications.length === 0 || !recurrence) return;
  if (openSeries({ when, recurrence }).at(firstStart(when))) return;
  throw new InvalidInputError(
    'notifications: they are about the first occurrence, but recurrence has none at the start of the event; choose a start that the rules contain',
  );
}

/** Checks the number of reminders and texts. Every participant gets each email and each text. */
function assertNumber(
  notifications: readonly StoredNotification[],
  participants: readonly Participant[],
  { reminders: mostReminders, texts: mostTexts }: QuotaConfig['event'],
): void {
  const people = participants.length;
  const texts = notifications.filter(({ type }) => type === 'sms').length * people;
  const webhooks = notifications.filter(({ type }) => type === 'webhook').length;
  const reminders = (notifications.length - webhooks) * people + webhooks;
  const refuse = (what: string, count: number, most: number) =>
    new InvalidInputError(
      `notifications: with ${people} participants this event would send ${count} ${what}; at most ${most} are allowed: use fewer notifications or participants`,
    );
  if (mostReminders > 0 && reminders > mostReminders)
    throw refuse('reminders', reminders, mostReminders);
  if (mostTexts > 0 && texts > mostTexts) throw refuse('text messages', texts, mostTexts);
}

function assertTextable(participants: readonly Participant[], countries: readonly string[]): void {
  for (const participant of participants) {
    const { phone_number: phone } = participant;
    const refusal = phone === null ? null : phoneRefusal(phone, countries);
    if (refusal !== null)
      throw new InvalidInputError(
        `participants: the phone_number of ${participantKey(participant)} cannot get text messages: ${refusal}`,
      );
  }
}

function assertRights(
  added: readonly StoredNotification[],
  { scopes, features, hasMailbox }: NotificationRights,
): void {
  if (!hasMailbox && added.some(({ type }) => type === 'email')) {
    throw new InvalidInputError(
      'notifications: this account has no mailbox to send email from; use webhook or sms',
    );
  }
  if (hasMailbox && !allows(scopes, SCOPES_FOR.sendMail)) {
    throw new ForbiddenError(
      'scope.missing',
      `notifications: this needs one of the scopes ${SCOPES_FOR.sendMail.join(', ')}, which the account has not granted.`,
    );
  }
  if (added.some(({ type }) => type === 'sms') && !features.includes('sms')) {
    throw new ForbiddenError(
      'feature.sms',
      'notifications: SMS notifications are not enabled for this application.',
    );
  }
}

function assertReachable(types: ReadonlySet<string>, participants: readonly Participant[]): void {
  if (participants.length === 0) {
    const needing = ['email', 'sms'].filter((type) => types.has(type));
    if (needing.length === 0) return;
    throw new InvalidInputError(
      `participants: ${needing.join(' and ')} notifications need at least one participant`,
    );
  }
  const lacking = (needed: (participant: Participant) => boolean) =>
    participants.filter((one) => !needed(one)).map(participantKey);
  const refuse = (what: string, unreachable: readonly string[]) => {
    if (unreachable.length > 0)
      throw new InvalidInputError(
        `participants: ${what} for every participant; missing for: ${listed(unreachable)}`,
      );
  };
  const hasEmail = ({ email }: Participant) => email !== '';
  const hasPhone = ({ phone_number: phone }: Participant) => Boolean(phone);
  // Rule 2 of the notifications: several types need both.
  if (types.size > 1)
    refuse(
      'an event with notifications of several types needs an email and a phone_number',
      lacking((one) => hasEmail(one) && hasPhone(one)),
    );
  else if (types.has('sms')) refuse('sms notifications need a phone_number', lacking(hasPhone));
  else if (types.has('email')) refuse('email notifications need an email', lacking(hasEmail));
}
