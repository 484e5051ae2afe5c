import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../../applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../../platform/database/base-columns.ts';
import { LOGIN_FLOWS, LOGIN_REQUEST_STATES, RESPONSE_TYPES } from './login-request-state.ts';

const LoginRequestSchema = defineEntity({
  name: 'LoginRequest',
  tableName: 'login_request',
  indexes: [
    { name: 'login_request_application', properties: ['application'] },
    { name: 'login_request_expiry', properties: ['expiresAt'] },
  ],
  properties: {
    ...idColumn,
    application: () => p.manyToOne(Application).ref().deleteRule('cascade'),
    /** SHA-256 of the secret in the link. */
    hash: p.blob().unique(),
    flow: p.enum(LOGIN_FLOWS),
    state: p.enum(LOGIN_REQUEST_STATES),
    /** Why the request failed. */
    reason: p.text().nullable(),
    /** Name of a connector; `null` if the user chooses. */
    provider: p.text().nullable(),
    redirectUri: p.text(),
    responseType: p.enum(RESPONSE_TYPES),
    /** Whether the application is sent failures. It is always sent a cancellation. */
    redirectOnError: p.boolean(),
    /** Value from the application, returned unchanged. */
    clientState: p.text().nullable(),
    /** `null` for the integration's scopes, or all if it has none. */
    scope: p.array().nullable(),
    metadata: p.json<Record<string, string | number | boolean>>().nullable(),
    loginHint: p.text().nullable(),
    /** The grant to authenticate again. The sign-in must result in this grant. */
    grantId: p.uuid().nullable(),
    /** JSON of provider settings from the application, encrypted. */
    settingsSealed: p.text().nullable(),
    /**
     * JSON of `AtProvider` while the user is at an OAuth provider, of `VerifiedCredentials` once an
     * account is accepted, or of `Returned` soon after the end; encrypted. Else `null`.
     */
    pendingSealed: p.text().nullable(),
    /**
     * SHA-256 of the secret of the browser that started the sign-in, or that ended it. No other
     * browser may continue it.
     */
    browserHash: p.blob().nullable(),
    /** SHA-256 of the `state` sent to the provider; `null` if the user is not at a provider. */
    oauthStateHash: p.blob().nullable().unique(),
    /** Number of attempts with refused credentials. */
    refusals: p.smallint().default(0),
    expiresAt: p.datetime().columnType('timestamptz'),
    ...timestampColumns,
  },
});

/** A sign-in that an application has requested. It can be used once (docs/hosted-sign-in.md). */
export class LoginRequest extends LoginRequestSchema.class {}
LoginRequestSchema.setClass(LoginRequest);
