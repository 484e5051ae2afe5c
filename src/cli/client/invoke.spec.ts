import { ApiCommandError } from './error.ts';
import { GROUPS } from './groups/groups.ts';
import { type Flags, invoke } from './invoke.ts';

function run(line: readonly string[], flags: Partial<Flags> = {}): Promise<void> {
  const [groupName = '', method = '', ...words] = line;
  const group = GROUPS[groupName];
  const action = group?.actions[method];
  if (!group || !action) throw new Error(`there is no method ${groupName} ${method}`);
  return invoke({ groupName, group, action, words, flags: { output: 'json', ...flags } });
}

describe('a method of carillon-api', () => {
  it.each<[string[], Partial<Flags>, string]>([
    [
      ['messages', 'get', '--unred=true'],
      {},
      'Unknown query parameter unred; did you mean unread?',
    ],
    [
      ['messages', 'get'],
      { query: ['unraed=true'] },
      'Unknown query parameter unraed; did you mean unread?',
    ],
    [['account', 'get'], { limit: '1' }, 'Unknown query parameter limit; there are none here'],
    [['calendars', 'get', 'an-id', '--view=ids'], {}, 'Unknown query parameter view'],
    [
      ['outbox', 'post'],
      { body: '{"subjct":"x"}' },
      'Unknown field of the body: subjct; did you mean subject?',
    ],
    [
      ['outbox', 'post'],
      { body: '{"to":[{"emial":"a@b.test"}]}' },
      'Unknown field of the body: to.emial; did you mean to.email?',
    ],
    [
      ['calendars', 'post'],
      { body: '{"name":"x","colour":"red"}' },
      'Unknown field of the body: colour; known: description, location, metadata, name, timezone',
    ],
    [['outbox', 'post'], { body: '{' }, 'The body is not valid JSON'],
    [['calendars', 'put'], { body: '{}' }, 'This method needs an id'],
    [['grants', 'tokens:revoke', 'a'], {}, 'This method also needs the token_id'],
    [
      ['events', 'get', 'a', 'b'],
      {},
      'Only one id is allowed; separate several ids with commas: a,b',
    ],
    [
      ['messages', 'get', '--unread'],
      {},
      'Unknown option --unread; filters are written --name=value',
    ],
    [['account', 'get'], { body: '{}' }, 'This method takes no body'],
    [['account', 'get'], { all: true }, '--all is only for lists with --limit and --offset'],
    [
      ['messages', 'get', 'an-id'],
      { all: true },
      '--all is only for lists with --limit and --offset',
    ],
    [['messages', 'get'], { all: true, limit: '0' }, '--limit must be a positive number'],
  ])('refuses %j %j as a usage error before it sends a request', async (line, flags, text) => {
    const error = await run(line, flags).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApiCommandError);
    expect(error).toMatchObject({ kind: 'usage', message: expect.stringContaining(text) });
  });
});
