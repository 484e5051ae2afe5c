import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { labelsAfter } from './label-rules.ts';

const label = (name: string) => ({ id: `id-${name}`, name: name.startsWith('my') ? null : name });
const after = (current: string[], wanted: string[], all: string | null = 'all') =>
  labelsAfter(current.map(label), wanted.map(label), all === null ? undefined : label(all))
    .map(({ id }) => id.slice(3))
    .sort();

describe('labelsAfter', () => {
  it.each([
    [
      ['all', 'inbox'],
      ['all', 'inbox', 'my'],
      ['all', 'inbox', 'my'],
    ],
    [['all', 'inbox'], ['all', 'inbox', 'trash'], ['trash']],
    [
      ['all', 'inbox', 'my'],
      ['trash', 'inbox', 'my'],
      ['my', 'trash'],
    ],
    [['all', 'inbox'], ['spam', 'all', 'inbox'], ['spam']],
    [['spam'], ['spam', 'trash'], ['trash']],
    [['trash'], ['trash', 'inbox'], ['all', 'inbox']],
    [['trash'], ['trash', 'all'], ['all']],
    [['all', 'inbox'], ['my'], ['all', 'my']],
    [['all', 'inbox'], ['all'], ['all']],
    [['trash'], ['my'], ['my', 'trash']],
    [
      ['all', 'sent'],
      ['all', 'sent', 'my'],
      ['all', 'my', 'sent'],
    ],
  ])('changes the labels %j, when %j are requested, to %j', (current, wanted, expected) => {
    expect(after(current, wanted)).toEqual(expected);
  });

  it('adds no label for all mail if the account has none', () => {
    expect(after(['trash'], ['inbox'], null)).toEqual(['inbox']);
  });

  it.each([
    [['all'], ['all', 'trash', 'spam']],
    [['all'], ['trash', 'spam']],
    [['all'], ['all', 'drafts']],
    [['all', 'sent'], ['all']],
  ])('refuses to change %j to %j', (current, wanted) => {
    expect(() => after(current, wanted)).toThrow(InvalidInputError);
  });
});
