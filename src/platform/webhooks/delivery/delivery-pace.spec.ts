import { DeliveryPace } from './delivery-pace.ts';

const webhookId = '019aa1b2-0000-7000-8000-000000000001';

describe('DeliveryPace', () => {
  it("counts a webhook's pace as booked until the end of the last slot", () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: 0, tookMs: 60_000 });
    const [ahead] = pace.ahead();
    expect(ahead?.webhookId).toBe(webhookId);
    expect(ahead?.waitMs).toBeGreaterThan(50_000);
    expect(ahead?.waitMs).toBeLessThanOrEqual(60_000);
  });

  it('adds deliveries that another connection booked at the same time after the first ones', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: 0, tookMs: 60_000 });
    pace.note({ webhookId, waitMs: 0, tookMs: 60_000 });
    expect(pace.ahead()[0]?.waitMs).toBeGreaterThan(110_000);
  });

  it('starts where the backlog of the webhook ends', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: 0, tookMs: 5 });
    pace.note({ webhookId, waitMs: 300_000, tookMs: 5 });
    expect(pace.ahead()[0]?.waitMs).toBeGreaterThan(290_000);
  });

  it('forgets bookings whose time is over', () => {
    const pace = new DeliveryPace();
    pace.note({ webhookId, waitMs: -10, tookMs: 5 });
    expect(pace.ahead()).toEqual([]);
  });
});
