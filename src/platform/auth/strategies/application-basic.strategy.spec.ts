import type { Request } from 'express';
import type { Credentials } from '../credentials.ts';
import { ApplicationBasicStrategy } from './application-basic.strategy.ts';

describe('Basic authentication of an application', () => {
  it.each([
    ['Basic', 'id:secret', ['id', 'secret']],
    ['basic', 'id:a:b::c', ['id', 'a:b::c']],
    ['Basic', 'id::', ['id', ':']],
  ])('%s %s has everything behind the first colon as password', async (scheme, text, expected) => {
    const asked: string[][] = [];
    const strategy = new ApplicationBasicStrategy({
      applicationBySecret: (...given: string[]) => Promise.resolve(void asked.push(given)),
    } as unknown as Credentials);
    const authorization = `${scheme} ${Buffer.from(text).toString('base64')}`;
    await strategy.validate({ headers: { authorization } } as Request);
    expect(asked).toEqual([expected]);
  });
});
