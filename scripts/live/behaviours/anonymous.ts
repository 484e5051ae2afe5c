/*
 * A record of a live run must not say anything about the person whose account it was. So it is not
 * cleaned of what looks personal: only words of this list are kept, whatever a company or the
 * writer of a message put into a response.
 */

/** Words of the companies' protocols that a record may contain. */
const KNOWN_WORDS: ReadonlySet<string> = new Set(
  [
    // Reasons and statuses of Google's errors.
    'accessNotConfigured admin_policy_enforced authError backendError badRequest conditionNotMet dailyLimitExceeded domainPolicy',
    'failedPrecondition forbidden fullSyncRequired insufficientPermissions internalError invalid',
    'invalidArgument limitExceeded notFound parseError quotaExceeded rateLimitExceeded',
    'userRateLimitExceeded variableTermLimitExceeded updatedMinTooLongAgo',
    'ABORTED ALREADY_EXISTS DEADLINE_EXCEEDED FAILED_PRECONDITION INTERNAL INVALID_ARGUMENT NOT_FOUND',
    'PERMISSION_DENIED RESOURCE_EXHAUSTED UNAUTHENTICATED UNAVAILABLE EXPIRED_SYNC_TOKEN',
    'RATE_LIMIT_EXCEEDED SERVICE_DISABLED ACCESS_TOKEN_SCOPE_INSUFFICIENT USER_PROJECT_DENIED',
    // Codes of Microsoft Graph.
    'ApplicationThrottled BadRequest ErrorAccessDenied ErrorDuplicateTransactionId',
    'ErrorInternalServerError ErrorInvalidIdMalformed ErrorInvalidRequest ErrorItemNotFound',
    'ErrorMailboxMoveInProgress ErrorMailboxStoreUnavailable ErrorPropertyValidationFailure',
    'ErrorQuotaExceeded ErrorServerBusy ExtensionError Forbidden InvalidAuthenticationToken',
    'InvalidRequest MailboxInfoStale MailboxNotEnabledForRESTAPI RequestBroker--ParseUri',
    'ResourceNotFound Request_ResourceNotFound SyncStateNotFound TooManyRequests UnknownError',
    'ValidationError generalException invalidRequest itemNotFound resyncRequired syncStateNotFound',
    // Kinds of records in Gmail's history.
    'messagesAdded messagesDeleted labelsAdded labelsRemoved',
  ].flatMap((line) => line.split(' ')),
);

/** A value in a record. */
export type Fact = string | number | boolean | null;

const ADDRESS = /@/;
const TIME = /^\d{4}-\d\d-\d\d/;
/** Larger numbers may be ids, telephone numbers or times. */
const LARGEST_NUMBER = 9_999;

/**
 * A value from a company, as a record may contain it. Texts that are no known word of a protocol
 * become placeholders, and so do large numbers; anything but a text, number or boolean is `null`.
 */
export function anonymous(value: unknown): Fact {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number')
    return Number.isFinite(value) && Math.abs(value) <= LARGEST_NUMBER ? value : '<number>';
  if (typeof value !== 'string') return null;
  if (KNOWN_WORDS.has(value)) return value;
  if (ADDRESS.test(value)) return '<address>';
  return TIME.test(value) ? '<time>' : '<text>';
}
