import { defineEntity, p } from '@mikro-orm/core';
import { Application } from '../applications/application.entity.ts';
import { idColumn, timestampColumns } from '../../platform/database/base-columns.ts';
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
    /** SHA-256 of what the link holds. */
    hash: p.blob().unique(),
    flow: p.enum(LOGIN_FLOWS),
    state: p.enum(LOGIN_REQUEST_STATES),
    /** Why it failed. */
    reason: p.text().nullable(),
    /** Name of a connector; null: whoever signs in chooses. */
    provider: p.text().nullable(),
    redirectUri: p.text(),
    responseType: p.enum(RESPONSE_TYPES),
    /** Whether failures are told to the application; cancelling always is. */
    redirectOnError: p.boolean(),
    /** The application's own value, handed back. */
    clientState: p.text().nullable(),
    /** Null: the integration's, or all. */
    scope: p.array().nullable(),
    metadata: p.json<Record<string, string | number | boolean>>().nullable(),
    loginHint: p.text().nullable(),
    /** The grant that authenticates again; no other may come out of it. */
    grantId: p.uuid().nullable(),
    /** JSON of provider settings the application has given, sealed. */
    settingsSealed: p.text().nullable(),
    /** JSON of `PendingLogin`, sealed; null before and after. */
    pendingSealed: p.text().nullable(),
    /** SHA-256 of the secret of the browser that has begun: nobody else may go on. */
    browserHash: p.blob().nullable(),
    /** SHA-256 of the `state` that is at the provider; null: nobody is there. */
    oauthStateHash: p.blob().nullable().unique(),
    /** Credentials that were tried and refused. */
    refusals: p.smallint().default(0),
    expiresAt: p.datetime().columnType('timestamptz'),
    ...timestampColumns,
  },
});

/** Somebody is to sign in: made by an application, used once (docs/hosted-sign-in.md). */
export class LoginRequest extends LoginRequestSchema.class {}
LoginRequestSchema.setClass(LoginRequest);
