import { Readiness } from './readiness.ts';

describe('Readiness', () => {
  it('returns every result by name and in order of registration, whatever the other checks do', async () => {
    const readiness = new Readiness();
    readiness.register('late', () => new Promise((resolve) => setTimeout(() => resolve(null), 20)));
    readiness.register('broken', () => Promise.reject(new Error('password=hunter2')));
    readiness.register('throwing', () => {
      throw new Error('at once');
    });
    readiness.register('off', () => 'is off');
    expect(await readiness.results()).toEqual([
      { name: 'late', problem: null },
      { name: 'broken', problem: 'the check failed' },
      { name: 'throwing', problem: 'the check failed' },
      { name: 'off', problem: 'is off' },
    ]);
  });

  it('replaces a check whose name is registered again', async () => {
    const readiness = new Readiness();
    readiness.register('engine', () => 'has not ticked');
    readiness.register('engine', () => null);
    expect(await readiness.results()).toEqual([{ name: 'engine', problem: null }]);
  });

  it('reports a check that hangs as failed after two seconds', async () => {
    const readiness = new Readiness();
    readiness.register('hanging', () => new Promise(() => undefined));
    expect(await readiness.results()).toEqual([
      { name: 'hanging', problem: 'no answer within two seconds' },
    ]);
  });
});
