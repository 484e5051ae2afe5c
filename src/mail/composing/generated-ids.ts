const GENERATED = /^<[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\.[\da-z]+)?@([^@]+)>$/;

/**
 * Tells Message-IDs that this installation has generated, for messages, drafts and reminders, from
 * those of senders and servers.
 * @param mailDomain `MAIL_DOMAIN`
 */
export const isGeneratedId =
  (mailDomain: string) =>
  (messageIdHeader: string): boolean =>
    GENERATED.exec(messageIdHeader)?.[1]?.toLowerCase() === mailDomain.toLowerCase();
