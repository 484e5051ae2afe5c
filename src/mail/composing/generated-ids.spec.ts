import { newId } from '../../platform/base/ids/ids.ts';
import { isGeneratedId } from './generated-ids.ts';

describe('isGeneratedId', () => {
  it.each([
    ['of a message', `<${newId()}.0az9@mail.test>`, true],
    ['of a reminder', `<${newId()}@mail.test>`, true],
    ['of another installation', `<${newId()}@other.test>`, false],
    ['of a server', '<x1@mail.test>', false],
    ['of a sender', `<a-${newId()}@mail.test>`, false],
  ])('knows the Message-ID %s', (_, header, expected) => {
    expect(isGeneratedId('Mail.test')(header)).toBe(expected);
  });
});
