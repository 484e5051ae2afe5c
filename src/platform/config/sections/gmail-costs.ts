import { z } from 'zod';

/*
 * Quota units of the methods of Gmail that Carillon calls, by Google's names. Both tables were
 * compared with copies of Google's page on 27 November 2026, the older one with a copy from before
 * May 2026.
 * `GMAIL_PRICES_CHECKED` has this day, or a later one on which the operator compared them.
 * Source: https://developers.google.com/workspace/gmail/api/reference/quota
 */

/** For projects that began to use the Gmail API in May 2026 or later. */
const NEW_COSTS = {
  getProfile: 1,
  'labels.list': 1,
  'labels.create': 5,
  'labels.update': 5,
  'labels.delete': 5,
  'messages.list': 5,
  'messages.get': 20,
  'messages.attachments.get': 20,
  'messages.modify': 5,
  'messages.insert': 25,
  'messages.send': 100,
  'drafts.list': 5,
  'drafts.create': 10,
  'drafts.update': 15,
  'drafts.delete': 10,
  'history.list': 2,
  'settings.sendAs.list': 1,
  watch: 100,
  stop: 50,
};

/** A method of Gmail that Carillon calls, by Google's name. */
export type GmailMethod = keyof typeof NEW_COSTS;
/** Quota units of one call of each method. */
export type GmailCosts = Readonly<Record<GmailMethod, number>>;

/** Projects that used the Gmail API between November 2025 and April 2026 have these. */
const OLD_COSTS: GmailCosts = { ...NEW_COSTS, 'messages.get': 5, 'messages.attachments.get': 5 };

/** What Google grants to new and old projects. */
const PROJECTS = {
  new: { costs: NEW_COSTS as GmailCosts, unitsPerAccount: 6_000 },
  old: { costs: OLD_COSTS, unitsPerAccount: 15_000 },
};

const isMethod = (name: string): name is GmailMethod => Object.hasOwn(NEW_COSTS, name);

/** `messages.get=20,messages.send=100`. */
const otherCosts = z
  .string()
  .transform((value, context) => {
    const costs: Partial<Record<GmailMethod, number>> = {};
    for (const entry of value.split(',').filter((one) => one.trim() !== '')) {
      const [, method = '', units = ''] = /^\s*([\w.]+)\s*=\s*(\d{1,4})\s*$/.exec(entry) ?? [];
      if (isMethod(method) && Number(units) > 0) costs[method] = Number(units);
      else
        context.addIssue(
          `must be pairs such as messages.get=20, with 1 to 9999 units; methods: ${Object.keys(NEW_COSTS).join(', ')}`,
        );
    }
    return costs;
  })
  .optional();

/** The variables of Gmail's costs; they are part of `environmentSchema`. */
export const gmailCostVariables = {
  GMAIL_PROJECT: z.enum(['new', 'old'], 'must be new or old').default('new'),
  GMAIL_UNIT_COSTS: otherCosts,
};

const schema = z.object(gmailCostVariables);

/**
 * What Gmail counts for each call, and how many units a mailbox may use in a minute unless the
 * operator sets another number.
 */
export function gmailCosts(env: z.output<typeof schema>): {
  costs: GmailCosts;
  unitsPerAccount: number;
} {
  const { costs, unitsPerAccount } = PROJECTS[env.GMAIL_PROJECT];
  return { costs: { ...costs, ...env.GMAIL_UNIT_COSTS }, unitsPerAccount };
}
