import { Inject, Injectable } from '@nestjs/common';
import { ProviderError } from '../../platform/base/errors/provider-error.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig } from '../../platform/config/app-config.ts';
import { servesConsole } from '../../platform/config/sections/operator-config.ts';
import type { RowOf } from '../../platform/database/rows/row-of.ts';
import { Database } from '../../platform/database/sql.ts';
import { reportIncident } from '../../platform/logs/incidents.ts';
import {
  type ChangedWebhook,
  changedWebhooks,
  endWebhookMail,
  type LeasedMail,
  leaseWebhookMail,
  postponeWebhookMail,
  recordFailedMail,
  recordWebhookMail,
  reportedWebhooks,
} from '../../platform/webhooks/mails/due-mails.ts';
import type { Application } from '../applications/application.entity.ts';
import { OperatorMail } from '../operator-mail/operator-mail.ts';
import { webhookMailText } from './webhook-mail-text.ts';

/** Longer than one mail takes. If a process dies, its mail waits this long. */
const LEASE_MS = 300_000;
const MOST_PER_RUN = 20;
/** Pause after the first, second, … failed attempt. After the last one the mail is given up. */
const RETRY_MS = [60_000, 600_000, 3_600_000, 21_600_000];
/** Webhooks that a mail describes. Of others it says only how many there are. */
const MOST_DESCRIBED = 20;

const RECIPIENT = `
  select client_id as "clientId", name, contact_email as "contactEmail" from application where id = $1`;

type Recipient = RowOf<Application, 'clientId' | 'name' | 'contactEmail'>;

/**
 * Sends the mails about webhooks that are due, by the operator's own mail server (ADR 0158). A mail
 * reports every webhook of an application whose state differs from what the last mail said. All
 * workers share the work through leases, and no network is used inside a transaction. A mail that
 * may have arrived is sent again with the same Message-ID, because a warning must not be lost.
 */
@Injectable()
export class WebhookMails {
  constructor(
    private readonly database: Database,
    private readonly mail: OperatorMail,
    private readonly clock: Clock,
    @Inject(APP_CONFIG)
    private readonly config: Pick<AppConfig, 'baseUrl' | 'environment' | 'operator' | 'outbox'>,
  ) {}

  /** Sends at most 20 mails, one after another. Stops early if the mail server is in trouble. */
  async run(stop?: AbortSignal): Promise<void> {
    for (let count = 0; count < MOST_PER_RUN; count += 1) {
      if (stop?.aborted) return;
      const now = this.clock.now();
      const until = new Date(now.getTime() + LEASE_MS);
      const mail = await leaseWebhookMail(this.database, now, until);
      if (!mail || !(await this.#process(mail))) return;
    }
  }

  /** @returns whether the mail server accepts other mails */
  async #process(mail: LeasedMail): Promise<boolean> {
    if (mail.attempts > RETRY_MS.length + 1) {
      await this.#giveUp(mail, 'every process that tried to send it ended first');
      return true;
    }
    const [recipient] = await this.database.query<Recipient>(RECIPIENT, [mail.applicationId]);
    const changed = await changedWebhooks(this.database, mail.applicationId);
    if (!recipient?.contactEmail || changed.length === 0) {
      await endWebhookMail(this.database, mail, this.clock.now());
      return true;
    }
    try {
      await this.#send(mail, { ...recipient, contactEmail: recipient.contactEmail }, changed);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      await this.#failed(mail, error);
      return error.code === 'rejected';
    }
    await recordWebhookMail(this.database, mail, changed, this.clock.now());
    return true;
  }

  async #send(
    { mailId }: LeasedMail,
    { clientId, name, contactEmail: to }: Recipient & { contactEmail: string },
    changed: readonly ChangedWebhook[],
  ): Promise<void> {
    const described = changed.slice(0, MOST_DESCRIBED).map(({ id }) => id);
    const { baseUrl, operator, outbox } = this.config;
    const words = webhookMailText({
      to,
      application: { clientId, name },
      described: await reportedWebhooks(this.database, described),
      changed,
      server: baseUrl,
      console: servesConsole(this.config) ? operator.url : null,
    });
    const messageIdHeader = `<webhooks.${mailId}@${outbox.mailDomain}>`;
    await this.mail.send({ to, ...words, messageIdHeader, date: this.clock.now() });
  }

  async #failed(mail: LeasedMail, error: ProviderError): Promise<void> {
    const pause = RETRY_MS[mail.attempts - 1];
    if (!this.mail.isConfigured || pause === undefined) return this.#giveUp(mail, error.message);
    const now = this.clock.now();
    await recordFailedMail(this.database, mail, error.message, now);
    await postponeWebhookMail(this.database, mail, new Date(now.getTime() + pause));
    reportIncident('webhook.mail-delayed', { application: mail.applicationId }, error.message);
  }

  async #giveUp(mail: LeasedMail, reason: string): Promise<void> {
    await recordFailedMail(this.database, mail, reason, this.clock.now());
    await endWebhookMail(this.database, mail, this.clock.now());
    reportIncident('webhook.mail-failed', { application: mail.applicationId }, reason);
  }
}
