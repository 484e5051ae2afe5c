import { callbackOf, type LiveSettings } from './settings.ts';

interface Advice {
  when: RegExp;
  text(settings: LiveSettings): string;
}

const clientOf = ({ integration }: LiveSettings) =>
  encodeURIComponent(String(integration['client_id'] ?? ''));

/** Words of the companies that have a known cause. The first match counts. */
const ADVICE: readonly Advice[] = [
  {
    when: /AADSTS(65001|90094|900971|650052)|admin.?consent|consent_required|needs? admin/i,
    text: (settings) =>
      'An administrator of the tenant must consent: ' +
      `https://login.microsoftonline.com/${String(settings.integration['tenant'] ?? 'organizations')}/adminconsent?client_id=${clientOf(settings)}`,
  },
  {
    when: /SERVICE_DISABLED|accessNotConfigured|has not been used in project|API .{0,60}disabled/i,
    text: () =>
      'An API is not enabled. In the Google Cloud console, APIs & Services, Library, enable the Gmail API, the Google Calendar API and the People API; it takes some minutes.',
  },
  {
    when: /AADSTS50011|redirect_uri_mismatch/i,
    text: ({ port }) => `Register this redirect address at the client: ${callbackOf(port)}`,
  },
  {
    when: /AADSTS50194/,
    text: () =>
      'The application is for one tenant only. Set LIVE_TENANT to the id or domain of that tenant.',
  },
  {
    when: /AADSTS7000222/,
    text: () => 'The client secret has expired. Create a new one in the app registration.',
  },
  {
    when: /AADSTS7000215|invalid_client/i,
    text: () =>
      'The company refuses the client. Check the client id and the client secret (of Microsoft: the value of the secret, not its id).',
  },
  {
    when: /AADSTS700016|unauthorized_client/i,
    text: () => 'The company does not know this client id, or the client may not sign in this way.',
  },
  {
    when: /access_denied/i,
    text: () =>
      'The sign-in was refused. If the Google app is in testing, add the address to its test users. If the organization restricts apps, an administrator must allow this client.',
  },
  {
    when: /invalid_grant/i,
    text: () =>
      'The refresh token is not valid: it belongs to another client, was revoked, or has expired (after 7 days while a Google app is in testing).',
  },
  {
    when: /MailboxNotEnabledForRESTAPI|MailboxNotHostedInExchangeOnline/i,
    text: () => 'This user has no mailbox in Exchange Online.',
  },
  {
    when: /Mail service not enabled/i,
    text: () => 'Gmail is not turned on for this user.',
  },
  {
    when: /insufficient|SCOPE_INSUFFICIENT|ErrorAccessDenied|missing.?scope/i,
    text: () =>
      'The consent does not cover this. Sign in again and allow everything that is asked.',
  },
];

/**
 * Advice for words of a company or of Carillon.
 * @returns `null` if the cause is not known
 */
export function explain(words: string, settings: LiveSettings): string | null {
  return ADVICE.find(({ when }) => when.test(words))?.text(settings) ?? null;
}
