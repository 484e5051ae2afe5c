import { Inject, Injectable } from '@nestjs/common';
import { LockMode } from '@mikro-orm/core';
import { EntityManager } from '@mikro-orm/postgresql';
import type { Scope } from '../../platform/auth/scopes.ts';
import { changedFields, recordAudit } from '../../platform/audit/record-audit.ts';
import { sqlOf } from '../../platform/database/orm-transactions.ts';
import { SecretBox } from '../../platform/base/crypto/secret-box.ts';
import { hashToken } from '../../platform/base/crypto/token-hash.ts';
import { InvalidInputError, NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { newId, randomBase36, SECRET_LENGTH } from '../../platform/base/ids/ids.ts';
import { Clock } from '../../platform/base/time/clock.ts';
import { APP_CONFIG, type AppConfig, type Region } from '../../platform/config/app-config.ts';
import { isEmptyChange } from '../../platform/base/empty-change.ts';
import { scheduleWebhookMails } from '../../platform/webhooks/mails/schedule-mails.ts';
import { sealApplicationSecret } from './application-secrets.ts';
import { Application } from './application.entity.ts';
import type { ApplicationFeature, Plan } from '../../platform/auth/plan.ts';

export interface NewApplication extends SignInRules {
  name: string;
  plan: Plan;
  features: readonly ApplicationFeature[];
  region: Region;
  /** Address that gets mails about failing webhooks. Default `null`: nobody gets them. */
  contactEmail?: string | null | undefined;
}

/** Rules for sign-ins of an application. Absent fields have their default. */
export interface SignInRules {
  /** Whether `response_type=token` is allowed. Default: no. */
  allowsTokenResponse?: boolean | undefined;
  /** All scopes that a sign-in may grant. Default `null`: every scope. */
  allowedScopes?: readonly Scope[] | null | undefined;
  /**
   * Lifetime in seconds of access tokens created by a sign-in. Default `null`: they work until they
   * are revoked.
   */
  tokenLifetime?: number | null | undefined;
  /** Whether a sign-in revokes the earlier tokens of its account. Default: no. */
  revokesOlderTokens?: boolean | undefined;
}

/** The fields that can be changed. Absent fields stay as they are. */
export interface ApplicationChange extends Partial<NewApplication> {
  iconUrl?: string | null;
  redirectUris?: readonly string[];
}

/** An application with its secret, which is shown only once. */
export interface ApplicationWithSecret {
  application: Application;
  clientSecret: string;
}

const CLIENT_ID_LENGTH = 25;

/** Applications. The operator creates them and sets their rules; their owners describe them. */
@Injectable()
export class ApplicationsService {
  constructor(
    private readonly em: EntityManager,
    private readonly secretBox: SecretBox,
    private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'operatorMail'>,
  ) {}

  /**
   * @returns the application and its client secret, which cannot be read again
   * @throws {InvalidInputError} for a contact address, if the server cannot send mail
   */
  async create(input: NewApplication): Promise<ApplicationWithSecret> {
    if (input.contactEmail) this.#requireMail();
    return this.em.transactional(async (em) => {
      const id = newId();
      const clientSecret = randomBase36(SECRET_LENGTH);
      const now = this.clock.now();
      const application = em.create(Application, {
        id,
        clientId: randomBase36(CLIENT_ID_LENGTH),
        name: input.name,
        secretHash: hashToken(clientSecret),
        secretSealed: sealApplicationSecret(this.secretBox, id, clientSecret),
        plan: input.plan,
        features: [...new Set(input.features)],
        region: input.region,
        contactEmail: input.contactEmail ?? null,
        redirectUris: [],
        allowsTokenResponse: input.allowsTokenResponse ?? false,
        allowedScopes: input.allowedScopes ? [...input.allowedScopes] : null,
        tokenLifetime: input.tokenLifetime ?? null,
        revokesOlderTokens: input.revokesOlderTokens ?? false,
        createdAt: now,
        updatedAt: now,
      });
      await em.flush();
      const { name, plan, features, region } = application;
      await record(em, application, 'application.create', { name, plan, features, region });
      return { application, clientSecret };
    });
  }

  /**
   * Creates a new secret, which signs webhooks from the commit on.
   * @param keepOldSeconds how long requests with the old secret are still accepted and the old
   *   secret signs `webhook-signature` as well; 0: it is refused from the commit on. A secret that
   *   was rotated before is refused in any case.
   * @throws {NotFoundError}
   */
  rotateSecret(clientId: string, keepOldSeconds = 0): Promise<ApplicationWithSecret> {
    return this.em.transactional(async (em) => {
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const application = await this.#byClientId(em, clientId, { lockMode, refresh: true });
      const clientSecret = randomBase36(SECRET_LENGTH);
      const now = this.clock.now();
      const keeps = keepOldSeconds > 0;
      const until = keeps ? new Date(now.getTime() + keepOldSeconds * 1_000) : null;
      em.assign(application, {
        previousSecretHash: keeps ? application.secretHash : null,
        previousSecretSealed: keeps ? application.secretSealed : null,
        previousSecretUntil: until,
        secretHash: hashToken(clientSecret),
        secretSealed: sealApplicationSecret(this.secretBox, application.id, clientSecret),
        updatedAt: now,
      });
      await em.flush();
      const kept = until ? { oldSecretUntil: until } : {};
      await record(em, application, 'application.rotate-secret', kept);
      return { application, clientSecret };
    });
  }

  /** @throws {NotFoundError} */
  get(applicationId: string): Promise<Application> {
    return this.#byId(this.em.fork(), applicationId);
  }

  /** @throws {NotFoundError} */
  findByClientId(clientId: string): Promise<Application> {
    return this.#byClientId(this.em.fork(), clientId);
  }

  /**
   * A change without values has no effect. A new contact address gets a mail about webhooks that
   * fail already.
   * @throws {NotFoundError}
   * @throws {InvalidInputError} for a new contact address, if the server cannot send mail
   */
  async update(applicationId: string, change: ApplicationChange): Promise<Application> {
    if (isEmptyChange(change)) return this.get(applicationId);
    return this.em.transactional(async (em) => {
      const application = await this.#byId(em, applicationId);
      const { features, redirectUris, allowedScopes, ...columns } = change;
      const { contactEmail } = change;
      const hasNewContact = Boolean(contactEmail) && contactEmail !== application.contactEmail;
      if (hasNewContact) this.#requireMail();
      em.assign(
        application,
        {
          ...columns,
          ...(features ? { features: [...new Set(features)] } : {}),
          ...(redirectUris ? { redirectUris: [...new Set(redirectUris)] } : {}),
          ...(allowedScopes === undefined
            ? {}
            : { allowedScopes: allowedScopes && [...allowedScopes] }),
          updatedAt: this.clock.now(),
        },
        { ignoreUndefined: true },
      );
      await em.flush();
      if (hasNewContact) await scheduleWebhookMails(sqlOf(em), [applicationId], this.clock.now());
      await record(em, application, 'application.update', { changed: changedFields(change) });
      return application;
    });
  }

  #requireMail(): void {
    if (this.config.operatorMail === null)
      throw new InvalidInputError(
        'contact_email: this server sends no mail. Its operator has to set OPERATOR_SMTP_URL and OPERATOR_MAIL_FROM first',
      );
  }

  async #byId(em: EntityManager, id: string): Promise<Application> {
    const application = await em.findOne(Application, { id });
    if (!application) throw new NotFoundError('application', id);
    return application;
  }

  async #byClientId(
    em: EntityManager,
    clientId: string,
    options: { lockMode?: LockMode.PESSIMISTIC_WRITE; refresh?: boolean } = {},
  ): Promise<Application> {
    const application = clientId.includes('\0')
      ? null
      : await em.findOne(Application, { clientId }, options);
    if (!application) throw new NotFoundError('application', clientId);
    return application;
  }
}

function record(
  em: EntityManager,
  { id, clientId }: Application,
  action: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const target = { type: 'application', id };
  return recordAudit(sqlOf(em), {
    action,
    target,
    applicationId: id,
    details: { clientId, ...details },
  });
}
