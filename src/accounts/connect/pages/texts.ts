import { SCOPES, type Scope } from '../../../platform/auth/scopes.ts';

/** All texts of the sign-in pages. They are plain text; the pages escape them. */
export const TEXTS = {
  secured:
    'Your password goes to your mail provider and is stored encrypted. The application never sees it.',
  choose: {
    title: 'Choose your account',
    heading: (application: string) => `Connect your account to ${application}`,
    lead: 'Where is your mailbox?',
    none: 'This application has not set up any provider. Please tell its operator.',
  },
  credentials: {
    title: 'Sign in',
    again: 'Sign in again',
    lead: (application: string) => `to continue to ${application}`,
    email: 'Email address',
    password: 'Password',
    servers: 'Server settings',
    serversWords: {
      closed: 'Leave these empty and we will find them.',
      open: 'Leave these empty and we will find them.',
      missing:
        'We could not find the mail servers for this address. Your provider’s help pages list them.',
      given:
        'The application has set these servers. Your password will be sent to them: continue only if they belong to your provider.',
      check:
        'We found these servers, but cannot be sure that they belong to this address. If you recognise them, enter the password again and continue.',
    },
    imap: 'Incoming mail (IMAP)',
    smtp: 'Outgoing mail (SMTP)',
    calendars: 'Address of the calendars (CalDAV)',
    contacts: 'Address of the contacts (CardDAV)',
    host: 'Server',
    port: 'Port',
    imapPorts: 'Usually 993',
    smtpPorts: 'Usually 465 or 587',
    security: 'Security',
    securities: { '': 'Automatic', tls: 'TLS', starttls: 'STARTTLS', none: 'None' },
    username: 'User name',
    usernameHint: 'If it differs from the email address',
    smtpUsername: 'User name for sending',
    smtpPassword: 'Password for sending',
    smtpHint: 'Only if sending mail needs a separate login',
    submit: 'Continue',
    checking: 'This can take a few seconds.',
  },
  oauth: {
    title: 'Sign in',
    heading: (provider: string) => `Sign in with ${provider}`,
    lead: (application: string, provider: string) =>
      `You will sign in at ${provider}, and then come back here before ${application} gets access.`,
    submit: (provider: string) => `Continue with ${provider}`,
  },
  consent: {
    title: 'Allow access',
    heading: (application: string) => `Allow ${application} to use your account?`,
    lead: 'You are signed in as',
    will: (application: string) => `${application} will be able to:`,
    missed: (application: string, provider: string) =>
      `You did not allow the following at ${provider}, so ${application} will not be able to. To allow it, choose “Use another account” and sign in again.`,
    everything: 'Use everything in this account: mail, calendars and contacts',
    revoke:
      'You can withdraw this at any time: ask the application to disconnect the account, or change the password of your mailbox.',
    allow: 'Allow',
    deny: 'Do not allow',
    other: 'Use another account',
  },
  cancel: {
    title: 'Stop signing in',
    heading: 'Stop signing in?',
    lead: (application: string) => `You will return to ${application}. No account is connected.`,
    confirm: (application: string) => `Return to ${application}`,
    back: 'Continue signing in',
    link: 'Cancel',
  },
  done: {
    connected: {
      title: 'You are signed in',
      text: 'Your account works again. You can close this page.',
    },
    stopped: {
      title: 'The account was not connected',
      text: 'Nothing was changed. You can open the link again, or ask the people who sent it for a new one.',
    },
  },
  problem: {
    unknown: {
      title: 'This link does not work',
      text: 'The link is incomplete or was never valid. Go back to the application and start again.',
    },
    used: {
      title: 'This link was already used',
      text: 'Each link works for one sign-in. Go back to the application: if your account is not connected there, start again.',
    },
    expired: {
      title: 'This link has expired',
      text: 'Go back to the application and start again; you will get a new one.',
    },
    cookies: {
      title: 'Start again from the link',
      text: 'Your browser did not send the cookie that protects this sign-in, or the page was left open for too long. Allow cookies for this site, then open the link again.',
    },
    elsewhere: {
      title: 'Continue in the browser you started in',
      text: 'This sign-in was started in another browser. Open the link again to start here.',
    },
    redirect: {
      title: 'This application is not set up to sign in here',
      text: 'The application’s return address is not registered, so we do not send you there.',
    },
    client: {
      title: 'Unknown application',
      text: 'This application is not known here. The link you followed is wrong or outdated.',
    },
    suspended: {
      title: 'Application suspended',
      text: 'This application is suspended at the moment, so no account can be connected. Ask the people who run it.',
    },
    request: { title: 'The application sent an invalid request' },
    refused: { title: 'The account could not be connected' },
    tooMany: {
      title: 'Too many attempts',
      text: 'The credentials were wrong too many times. Wait a while, then start again from the application.',
    },
    broken: {
      title: 'Something went wrong',
      text: 'This is our fault, not yours. Try again in a moment.',
    },
    missing: { title: 'Page not found', text: 'The address of this page is wrong.' },
  },
  errorSummary: 'Please check the following',
  errors: {
    emailMissing: 'Enter the email address of your account.',
    emailInvalid: 'This is not an email address. It looks like name@example.com.',
    passwordMissing: 'Enter the password.',
    serversMissing: 'We could not find the mail servers for this address. Enter them here.',
    serversUnusable:
      'We could not connect to the mail servers. Check their names, ports and encryption, and enter your password again.',
    serversCheck: 'Check the mail servers below before your password is sent there.',
    passwordAgain: 'Enter the password again.',
    hostMissing: 'Enter the name of the server, such as mail.example.com.',
    portInvalid: 'A port is a number from 1 to 65535.',
    tooLong: 'This is too long.',
    refused: (words: string) =>
      `The server refused to sign you in. Check the address and the password. Its answer: ${words}`,
    unavailable: (words: string) =>
      `The provider cannot be reached right now. Try again in a minute. (${words})`,
    busy: 'Many people are signing in right now. Enter the password again in a few seconds.',
    otherAccount: (email: string) => `Sign in as ${email}. This account has to sign in again.`,
    slow: (minutes: number) =>
      `Too many wrong passwords for this address. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    provider: 'This provider cannot be used here. Choose another one.',
    oauthUnavailable: 'Your provider’s sign-in cannot be reached right now. Try again in a minute.',
    oauthNobody:
      'Your provider did not tell us which mailbox is yours. Ask the application to send your address with the link.',
    oauthDenied: 'You did not allow the sign-in at your provider. Nothing was connected.',
    oauthUnapproved:
      'An administrator of your organization has to agree to this application before you can sign in. Nothing was connected.',
    oauthNoScopes: (application: string, provider: string) =>
      `At ${provider}, you did not allow anything that ${application} needs. Sign in again and select the boxes that ${provider} shows.`,
    oauthNoRefresh:
      'Your provider did not permit lasting access. Try again, and allow everything that it asks.',
    oauthFailed: 'Your provider did not complete the sign-in. Try again.',
  },
  /** Error descriptions for the application. Users do not see them. */
  returned: {
    cancelled: 'The user did not complete the sign-in',
    denied: 'The user did not allow the access',
    tooMany: 'The credentials were wrong too many times',
  },
} as const;

/** Scopes in words, to complete the sentence "… will be able to". */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  email: 'Read, organise, send and delete your mail',
  'email.modify': 'Read, organise and delete your mail, drafts and attachments',
  'email.read_only': 'Read your mail and attachments',
  'email.send': 'Send mail in your name',
  'email.folders_and_labels': 'See and change your folders and labels',
  'email.metadata': 'See who you write with, when, and the subjects, but not the text',
  'email.drafts': 'Read and write your drafts',
  'email.send_as': 'Send mail in the name of colleagues and groups who have allowed it',
  calendar: 'See and change your calendars and events',
  'calendar.read_only': 'See your calendars and events',
  'calendar.free_busy': 'See when you are busy, but not why',
  contacts: 'See and change your contacts',
  'contacts.read_only': 'See your contacts',
  'room_resources.read_only': 'See the meeting rooms of your organisation',
};

/** The scopes in words, in the order of `SCOPES`. `null` stands for every scope. */
export function inWords(scopes: readonly Scope[] | null): string[] {
  if (scopes === null) return [TEXTS.consent.everything];
  return SCOPES.filter((scope) => scopes.includes(scope)).map((scope) => SCOPE_WORDS[scope]);
}
