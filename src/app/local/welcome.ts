import path from 'node:path';
import type { AppConfig } from '../../platform/config/app-config.ts';
import type { DemoAccess } from './demo-data.ts';

const lines = (...text: readonly string[]): string => `${text.join('\n')}\n`;

/** @param console link that signs in to the console; `null` = operators sign in themselves */
function listening(config: AppConfig, console: string | null = null): string[] {
  const link = [
    '',
    '  Console (its button signs you in, once and within an hour; another link: npm run carillon -- operator link):',
    '',
    `    ${console}`,
  ];
  return [
    '',
    `  Carillon is listening on ${config.baseUrl}   docs: ${config.baseUrl}/docs`,
    `  Roles: ${config.roles.join(' and ')}. Ctrl-C stops everything. Requests in the log: LOG_LEVEL=info npm start`,
    ...(console === null ? [] : link),
  ];
}

/** Text of the first start, with everything to paste. Secrets are shown only here. */
export function firstWelcome(config: AppConfig, demo: DemoAccess, console: string | null): string {
  const [ada, bo] = demo.accounts;
  if (!ada || !bo) throw new Error('the demo application has two accounts');
  return lines(
    ...listening(config, console),
    '',
    '  A demo application with two sandbox accounts was created. Its secrets are shown only this once:',
    '',
    `    client id      ${demo.clientId}`,
    `    client secret  ${demo.clientSecret}`,
    ...demo.accounts.map(
      ({ email, accessToken }) => `    ${email.padEnd(22)} access token ${accessToken}`,
    ),
    '',
    '  Paste into another terminal (the first four lines only once):',
    '',
    `export PATH="${path.resolve('bin')}:$PATH"`,
    `export CARILLON_API_URL=${config.baseUrl}`,
    `export CARILLON_ACCESS_TOKEN=${ada.accessToken}`,
    `export CARILLON_CLIENT_ID=${demo.clientId} CARILLON_CLIENT_SECRET=${demo.clientSecret}`,
    '',
    `curl -u "$CARILLON_ACCESS_TOKEN:" "$CARILLON_API_URL/account"`,
    `curl -H "Authorization: Bearer $CARILLON_ACCESS_TOKEN" "$CARILLON_API_URL/messages?limit=5"`,
    `curl -H "Authorization: Bearer $CARILLON_ACCESS_TOKEN" "$CARILLON_API_URL/v2/outbox" \\`,
    `  -d '{"to":[{"email":"${bo.email}"}],"subject":"Hello","body":"<p>Hello Bo</p>"}'`,
    '',
    'carillon-api messages get --limit=5 --output=table',
    `carillon-api calendars post --body='{"name":"Team","timezone":"Europe/Berlin"}'`,
    'carillon-api integrations get',
    '',
    '  Connect your own mailbox. This asks for its password, and prints how to send from it:',
    '',
    '    carillon-api connect you@example.com',
    '',
  );
}

/** Text of every later start with the embedded database. */
export function laterWelcome(config: AppConfig, console: string | null): string {
  return lines(
    ...listening(config, console),
    '',
    `  Data folder: ${config.dataDir}. The demo application's secrets and tokens were shown at the first start`,
    '  and are stored as hashes only. To list what exists and create new ones (docs/quickstart.md shows more):',
    '',
    'npm run carillon -- account list',
    'npm run carillon -- token create <account id>',
    'npm run carillon -- application list',
    'npm run carillon -- application rotate-secret <client_id>',
    'npm run carillon -- application create --name="My application"',
    '',
    '  With the id and the secret of an application, connect a mailbox: carillon-api connect you@example.com',
    `  Or start afresh: stop, delete ${config.dataDir}, npm start.`,
    '',
  );
}

/**
 * Text of a start with the embedded database and NODE_ENV=production. No secrets are created or
 * shown.
 */
export function productionWelcome(config: AppConfig): string {
  return lines(
    ...listening(config),
    '',
    `  Data folder: ${config.dataDir}. NODE_ENV=production: no demo application is created and no tokens are shown.`,
    '  Create an application with:',
    '',
    'npm run carillon -- application create --name="My application"',
    '',
  );
}

/** Text of a start with the database of DATABASE_URL. */
export function serverWelcome(config: AppConfig): string {
  return lines(...listening(config), '', '  Database: DATABASE_URL. No demo data.', '');
}
