import { DeliveryPace } from './delivery-pace.ts';

const webhookId = '019aa1b2-0000-7000-8000-000000000001';

describe('the pace of deliveries that are queued', () => {
  it('is taken until the end of the last slot', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: 0, tookMs: 60_000 });
    const [ahead] = pace.ahead();
    expect(ahead?.webhookId).toBe(webhookId);
    expect(ahead?.waitMs).toBeGreaterThan(50_000);
    expect(ahead?.waitMs).toBeLessThanOrEqual(60_000);
  });

  it('what was booked at the same time over another connection takes its slots after it', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: 0, tookMs: 60_000 });
    pace.note({ webhookId, waitMs: 0, tookMs: 60_000 });
    expect(pace.ahead()[0]?.waitMs).toBeGreaterThan(110_000);
  });

  it('begins where the webhook’s own backlog ends', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: 0, tookMs: 5 });
    pace.note({ webhookId, waitMs: 300_000, tookMs: 5 });
    expect(pace.ahead()[0]?.waitMs).toBeGreaterThan(290_000);
  });

  it('is forgotten when its time is over', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: -10, tookMs: 5 });
    expect(pace.ahead()).toEqual([]);
  });
});
