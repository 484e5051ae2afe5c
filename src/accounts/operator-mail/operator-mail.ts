import { Inject, Injectable } from '@nestjs/common';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { compose } from '../../formats/mime/compose.ts';
import { RelayTransports } from '../../providers/port/mail/relay-registry.ts';

const SEND_MS = 60_000;

/** A mail of the server itself. */
export interface ServerMail {
  to: string;
  subject: string;
  /** Plain text with CRLF line ends. */
  text: string;
  /** With angle brackets. */
  messageIdHeader: string;
  date: Date;
}

/** Sends mails of the server itself by the operator's own mail server (`OPERATOR_SMTP_URL`). */
@Injectable()
export class OperatorMail {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'operatorMail'>,
    private readonly transports: RelayTransports,
  ) {}

  /** Whether the operator has configured a mail server. */
  get isConfigured(): boolean {
    return this.config.operatorMail !== null;
  }

  /**
   * Sends a mail once, within a minute. The mail says that it was generated, so that nobody's
   * out-of-office reply answers it (RFC 3834).
   * @throws {ProviderError} if the mail server did not accept it, or none is configured
   */
  async send({ to, subject, text, messageIdHeader, date }: ServerMail): Promise<void> {
    const { operatorMail } = this.config;
    if (!operatorMail)
      throw new ProviderError(
        'unsupported',
        'OPERATOR_SMTP_URL and OPERATOR_MAIL_FROM are not set',
      );
    const { from, smtp } = operatorMail;
    const mime = await compose({
      from: { name: 'Carillon', email: from },
      to: [{ name: '', email: to }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject,
      html: `<pre style="white-space:pre-wrap;font-family:sans-serif">${escape(text)}</pre>`,
      text,
      messageIdHeader,
      date,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    });
    const message = { mime, envelope: { from, recipients: [to] }, messageIdHeader, bcc: [] };
    const control = { signal: AbortSignal.timeout(SEND_MS), onPhase: () => undefined };
    await this.transports.require('smtp').send(smtp, message, control);
  }
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * A name that an application has chosen, for a text of ours: one line of at most 60 letters,
 * digits, spaces, `_`, `'` and `-`, so that it cannot form a link.
 */
export const shownName = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N} _'-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 60);
