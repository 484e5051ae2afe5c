import { pagePaths, shellBlocks } from '../support/docs/pages.ts';

/** Programs of blocks that need nothing but a clone and a running server. */
const OURS = /^(curl|carillon|carillon-api|api|export|[A-Z_]+=)/;
/** What a page leaves to its reader, besides values of `export`. */
const LEFT_OUT = /…|<[a-z_ ]*id>|\$(?:ACCOUNT_ID|TOKEN)\b/;
/** Why a test does not run a block that names every value, by its page and first words. */
const CANNOT: Readonly<Record<string, string>> = {
  'README.md: carillon-api connect': 'asks for a password',
  'docs/account-ownership.md: curl -X PATCH': 'needs an integration for imap',
  'docs/backup.md: carillon instance show': 'cancels messages; test/long/backup restores databases',
  'docs/commands.md: carillon-api connect': 'asks for a password',
  'docs/configuration.md: PORT=3001 LOG_LEVEL=debug': 'starts a server',
  'docs/console.md: carillon operator create': 'asks for a password',
  'docs/event-feed.md: curl -u': 'needs the id of a webhook',
  'docs/event-feed.md: carillon-api webhooks': 'runs until Ctrl-C',
  'docs/hosted-sign-in.md: curl -s -u': 'needs a registered redirect address',
  'docs/hosted-sign-in.md: curl "$CARILLON_API_URL/oauth/token" -d': 'needs a code of a sign-in',
  'docs/invitations.md: api calendars feed:make': 'needs the id of a calendar',
  'docs/kubernetes.md: { printf': 'needs a cluster',
  'docs/network.md: export TLS_CERT_FILE=/etc/carillon/fullchain.pem': 'needs a certificate',
  'docs/operators.md: carillon operator create': 'asks for a password',
  'docs/operators.md: carillon operator disable': 'needs an operator',
  'docs/providers/sandbox.md: carillon-api integrations post': 'the demo application has it',
  'docs/objects.md: export OBJECTS_URL': 'needs an object store; test/e2e/body-objects has a stub',
  'docs/objects.md: carillon objects move': 'the same; test/faults/body-objects runs it',
  'docs/quickstart.md: carillon-api connect': 'asks for a password',
  'docs/quickstart.md: carillon-api outbox post': 'needs the profile of that account',
  'docs/quickstart.md: export CARILLON_API_URL=https://localhost:3000': 'needs HTTPS',
  'docs/sending.md: carillon-api send post': 'needs the id of a draft',
  'docs/webhooks.md: curl -u': 'needs a receiver that answers the challenge',
  'examples/reminders/README.md: # in a clone, in another terminal': 'run by test/e2e/examples',
  'examples/send-later-node/README.md: # in a clone, in another terminal':
    'run by test/e2e/examples',
  'examples/send-later-python/README.md: # in a clone, in another terminal':
    'run by test/e2e/examples',
};

const withoutExports = (text: string): string => text.replaceAll(/^export .*$/gm, '');

/** Lines that begin a command. */
const commands = (text: string): string[] =>
  text.split('\n').filter((line) => /^[A-Za-z]/.test(line) && !/^(true|false)/.test(line));

describe('blocks of shell lines', () => {
  const blocks = pagePaths().flatMap(shellBlocks);

  it('are run by test/long/doc-lines if they need only a clone and a server, or the reason is here', () => {
    const others = blocks
      .filter(({ runs, text }) => !runs && !LEFT_OUT.test(withoutExports(text)))
      .filter(({ text }) => commands(text).every((line) => OURS.test(line)))
      .map(({ page, text }) => `${page}: ${text}`);
    const reasons = Object.keys(CANNOT);
    const unexplained = others.filter((block) => !reasons.some((key) => block.startsWith(key)));
    expect(unexplained).toEqual([]);
    const unused = reasons.filter((key) => !others.some((block) => block.startsWith(key)));
    expect(unused).toEqual([]);
  });

  it('that are run leave nothing to their reader but values of exports', () => {
    const incomplete = blocks.filter(
      ({ runs, text }) => runs && LEFT_OUT.test(withoutExports(text)),
    );
    expect(incomplete.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });
});
