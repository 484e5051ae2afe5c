import { StepFailure } from '../../lib/report.ts';
import { compiled } from '../../lib/project.ts';
import type { Walk } from '../walk.ts';
import { CompanyClient } from './company-client.ts';
import { GMAIL_BEHAVIOURS, GMAIL_LAST } from './google-mail.ts';
import { PEOPLE_BEHAVIOURS } from './google-people.ts';
import { GRAPH_HEADERS, MICROSOFT_BEHAVIOURS } from './microsoft.ts';
import { observe } from './observer.ts';
import { type LiveRecord, type Observation, recordText, writeRecord } from './record.ts';

/** The account's access token at the company, which the temporary server has stored. */
async function companyToken({ server, account }: Walk): Promise<string> {
  const [{ withServices }, { TokenStore }] = await Promise.all([
    import(compiled('cli/carillon/services')) as Promise<
      typeof import('../../../src/cli/carillon/services.ts')
    >,
    import(compiled('accounts/grants/credentials/token-store')) as Promise<
      typeof import('../../../src/accounts/grants/credentials/token-store.ts')
    >,
  ]);
  const standing = await withServices(server.environment, ({ database, secretBox, clock }) =>
    new TokenStore(database, secretBox, clock).read(account.id),
  );
  const token = standing?.tokens?.tokens.accessToken;
  if (token === undefined) throw new StepFailure('the account has no access token');
  return token;
}

type Trials = (walk: Walk, token: string) => Promise<Observation[]>;

const atGoogle: Trials = async (walk, token) => {
  const one = walk.settings.server['GOOGLE_URL'];
  const gmail = new CompanyClient(one ?? 'https://gmail.googleapis.com', token);
  const people = new CompanyClient(one ?? 'https://people.googleapis.com', token);
  return [
    ...(await observe(walk, gmail, GMAIL_BEHAVIOURS)),
    ...(await observe(walk, people, PEOPLE_BEHAVIOURS)),
    ...(await observe(walk, gmail, GMAIL_LAST)),
  ];
};

const atMicrosoft: Trials = (walk, token) => {
  const address = walk.settings.server['MICROSOFT_GRAPH_URL'] ?? 'https://graph.microsoft.com';
  return observe(walk, new CompanyClient(address, token, GRAPH_HEADERS), MICROSOFT_BEHAVIOURS);
};

const TRIALS: Readonly<Record<string, Trials>> = { google: atGoogle, microsoft: atMicrosoft };

/**
 * Tries what only a real account can settle, and prints what was seen so that it can be pasted into
 * an issue. With `--record`, it is also written to a file. None of it is a check: a company may
 * behave in either way.
 */
export async function observeCompany(walk: Walk): Promise<void> {
  const { provider, server, isRecorded, recordFolder } = walk.settings;
  const trials = TRIALS[provider.name];
  if (!trials) return;
  await walk.step('What only a real account can settle', [], async () => {
    const token = await companyToken(walk);
    walk.report.hide(token);
    const record: LiveRecord = {
      provider: provider.name,
      day: new Date().toISOString().slice(0, 10),
      isEmulated: 'GOOGLE_URL' in server || 'MICROSOFT_GRAPH_URL' in server,
      observations: await trials(walk, token),
    };
    process.stdout.write(`\n${recordText(record)}\n\n`);
    walk.report.note('The table has no personal data: please paste it into an issue.');
    if (isRecorded) walk.report.note(`recorded in ${writeRecord(record, recordFolder)}`);
  });
}
