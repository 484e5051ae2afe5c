import { SmsError, type SmsFailure } from './sms-gateway.ts';

/*
 * What Twilio's errors mean for one text (twilio.com/docs/api/errors). An error about the text or
 * its recipient is final. An error about the operator's account, or a temporary one, is retried
 * until the event begins.
 */

/**
 * Errors about the account, its credentials, its sender or its limits. The operator or time can
 * resolve them.
 */
const NOT_YET: ReadonlyMap<number, string> = new Map([
  [20003, 'it does not accept our credentials'],
  [20005, 'our account is not active'],
  [20006, 'access is denied'],
  [20404, 'it does not know our account'],
  [20429, 'too many requests'],
  [21603, 'no sender is set'],
  [21606, 'the sender is not ours, or cannot send texts'],
  [21611, 'its queue for our sender is full'],
  [21659, 'the sender is not ours'],
  [21660, 'the sender is not of our account'],
  [21703, 'the messaging service has no senders'],
  [21704, 'the messaging service has no senders'],
  [21712, 'the messaging service has no senders'],
  [30001, 'its queue is full'],
  [30002, 'our account is suspended'],
  [63038, 'the daily limit of our account is reached'],
]);

/** Final errors about the recipient or the text. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [21201, 'the phone number is not valid'],
  [21211, 'the phone number is not valid'],
  [21214, 'the phone number cannot be reached'],
  [21217, 'the phone number is not valid'],
  [21219, 'the phone number is not verified (trial account)'],
  [21408, 'texts to this region are not permitted'],
  [21602, 'the text is empty'],
  [21604, 'the phone number is missing'],
  [21605, 'the text is too long'],
  [21608, 'the phone number is not verified (trial account)'],
  [21610, 'the recipient has unsubscribed'],
  [21612, 'the phone number cannot be reached from our sender'],
  [21614, 'the phone number is not a mobile number'],
  [21617, 'the text is too long'],
  [21619, 'the text is empty'],
]);

/** HTTP statuses that do not concern the text, for responses without a known code. */
const UNRELATED: readonly number[] = [401, 403, 404, 408, 409, 425, 429];
/**
 * The only server error after which the text was certainly not accepted. After any other, the
 * outcome is unknown.
 */
const NOT_ACCEPTED = 503;

/**
 * What an error response means for the text.
 * @param code Twilio's error code; `null` if the response has none
 */
export function failureOfTwilio(status: number, code: number | null): SmsFailure {
  if (code !== null && REFUSED.has(code)) return 'refused';
  if (code !== null && NOT_YET.has(code)) return 'not-yet';
  if (status >= 500) return status === NOT_ACCEPTED ? 'not-yet' : 'unknown';
  return UNRELATED.includes(status) ? 'not-yet' : 'refused';
}

/**
 * The error for a response: our own description and the code, so that clients see nothing of the
 * gateway's account.
 */
export function twilioError(
  status: number,
  code: number | null,
  retryAfterSeconds: number | null,
): SmsError {
  const description = code === null ? undefined : (REFUSED.get(code) ?? NOT_YET.get(code));
  const what = code === null ? `answered ${status}` : `answered ${status} (${code})`;
  return new SmsError(
    `the SMS gateway ${what}${description ? `: ${description}` : ''}`,
    failureOfTwilio(status, code),
    retryAfterSeconds,
  );
}
