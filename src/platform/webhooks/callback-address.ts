/** Address of a webhook without its query, which is often a secret. For events and mails. */
export const withoutQuery = (callbackUrl: string): string => callbackUrl.split('?', 1)[0] ?? '';
