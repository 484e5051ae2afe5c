import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import { refuseMisspelt } from './misspelt-fields.ts';

const SCHEMA = { shape: { send_at: null, bcc: null } };

/** Fields that resemble none of a message. */
const unknown = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`unknown_${index}`, 1]));

describe('refuseMisspelt', () => {
  it('refuses a misspelt field after many unknown ones', () => {
    const body = { ...unknown(499), send_att: 1 };
    expect(() => refuseMisspelt(body, SCHEMA)).toThrow(InvalidInputError);
  });

  it('does not compare more unknown fields than clients send', () => {
    const body = { ...unknown(500), send_att: 1 };
    expect(() => refuseMisspelt(body, SCHEMA)).not.toThrow();
  });
});
