import { describeDatabaseTrouble } from './database-trouble.ts';

describe('describeDatabaseTrouble', () => {
  it.each([
    ['ECONNREFUSED', 'cannot be reached (ECONNREFUSED)'],
    ['ENOTFOUND', 'cannot be reached: the name of its host is not known (ENOTFOUND)'],
    ['28P01', 'refuses the user or the password of DATABASE_URL (28P01)'],
    ['3D000', 'does not exist on its server (3D000)'],
    ['53300', 'has no free connection (53300)'],
    ['57P03', 'is starting or stopping (57P03)'],
    ['57014', 'did not answer in time (57014)'],
  ])('explains %s', (code, text) => {
    const error = Object.assign(new Error('user ada at db.internal'), { code });
    expect(describeDatabaseTrouble(error)).toBe(text);
  });

  it('explains an error without a code, as the driver throws it after a time limit', () => {
    expect(describeDatabaseTrouble(new Error('timeout expired'))).toBe(
      'cannot be reached: no answer in time',
    );
  });
});
