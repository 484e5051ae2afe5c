import { createRequire } from 'node:module';
import { z } from 'zod';
import { wholeNumber } from '../whole-number.ts';

const MOST = 100_000_000;

/** Loads the library only if a country is named: commands read the configuration at every start. */
function isSupportedCountry(country: string): boolean {
  const library = createRequire(import.meta.url)(
    'libphonenumber-js/max',
  ) as typeof import('libphonenumber-js/max');
  return library.isSupportedCountry(country);
}

/**
 * ISO country codes, separated by commas, in lower or upper case. They are stored in upper case.
 */
const countries = z
  .string()
  .transform((value) =>
    value
      .split(',')
      .map((code) => code.trim().toUpperCase())
      .filter(Boolean),
  )
  .pipe(
    z.array(
      z
        .string()
        .refine(
          isSupportedCountry,
          'must be ISO country codes, separated by commas, such as DE,US',
        ),
    ),
  )
  .default([]);

const count = (fallback: number) => wholeNumber(0, MOST).default(fallback);

/** The variables of quotas; they are part of `environmentSchema`. */
export const quotaVariables = {
  QUOTA_ACCOUNT_SMS: count(100),
  QUOTA_APPLICATION_SMS: count(1_000),
  QUOTA_ACCOUNT_REMINDERS: count(5_000),
  QUOTA_APPLICATION_REMINDERS: count(100_000),
  QUOTA_ACCOUNT_MEETINGS: count(100),
  QUOTA_APPLICATION_MEETINGS: count(2_000),
  QUOTA_EVENT_REMINDERS: count(1_000),
  QUOTA_EVENT_SMS: count(100),
  QUOTA_APPLICATION_WEBHOOKS: count(100),
  QUOTA_ACCOUNT_DRAFTS: count(10_000),
  QUOTA_ACCOUNT_TOKENS: count(1_000),
  SMS_COUNTRIES: countries,
};

const schema = z.object(quotaVariables);

/**
 * What applications may make the operator pay for, in one day (UTC) or for one event, and how much
 * they may store. 0 = no limit.
 */
export function quotaConfig(env: z.output<typeof schema>) {
  return {
    /**
     * SMS handed to the gateway in a day: for one account, and for all accounts of one application
     * together.
     */
    sms: { account: env.QUOTA_ACCOUNT_SMS, application: env.QUOTA_APPLICATION_SMS },
    /**
     * Reminders of every type sent in a day, for one account and for one application. An SMS
     * reminder counts here too.
     */
    reminders: {
      account: env.QUOTA_ACCOUNT_REMINDERS,
      application: env.QUOTA_APPLICATION_REMINDERS,
    },
    /**
     * Meetings requested from conferencing services in a day, for one account and for one
     * application.
     */
    meetings: { account: env.QUOTA_ACCOUNT_MEETINGS, application: env.QUOTA_APPLICATION_MEETINGS },
    /**
     * Maximum number of reminders of one event (notifications × participants), and of SMS among
     * them.
     */
    event: { reminders: env.QUOTA_EVENT_REMINDERS, texts: env.QUOTA_EVENT_SMS },
    /** Maximum number of stored things, at any time. */
    ceilings: {
      /** Webhooks of one application. */
      webhooks: { setting: 'QUOTA_APPLICATION_WEBHOOKS', limit: env.QUOTA_APPLICATION_WEBHOOKS },
      /** Drafts of one account, also drafts that other programs have stored in its mailbox. */
      drafts: { setting: 'QUOTA_ACCOUNT_DRAFTS', limit: env.QUOTA_ACCOUNT_DRAFTS },
      /** Valid access tokens of one account. */
      tokens: { setting: 'QUOTA_ACCOUNT_TOKENS', limit: env.QUOTA_ACCOUNT_TOKENS },
    },
    /** ISO codes of the countries whose numbers may get SMS; empty = all countries. */
    smsCountries: env.SMS_COUNTRIES as readonly string[],
  };
}

export type QuotaConfig = ReturnType<typeof quotaConfig>;
