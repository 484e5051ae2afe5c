import { wireView } from './wire-view.ts';

describe('wireView', () => {
  it('renames fields and converts times at every depth', () => {
    expect(
      wireView({
        nextPageToken: null,
        items: [
          { createdAt: new Date(1_700_000_000_999), lastError: { statusCode: 4 }, tags: ['aB'] },
        ],
      }),
    ).toEqual({
      next_page_token: null,
      items: [{ created_at: 1_700_000_000, last_error: { status_code: 4 }, tags: ['aB'] }],
    });
  });
});
