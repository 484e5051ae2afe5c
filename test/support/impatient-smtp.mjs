// Preloaded with --import into the built program: it waits for the response to a message for as
// long as SMTP_CONFIRMATION_MS says. The program itself has no setting for that.
const { SMTP_LIMITS } = await import('../../dist/src/providers/smtp/smtp-settings.js');
SMTP_LIMITS.confirmationMs = Number(process.env.SMTP_CONFIRMATION_MS);
