import Testing

@testable import KFStorage

@Suite("Expirations")
struct StorageExpirationTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    @Test("Spans count from the moment of storing")
    func spans() {
        #expect(StorageExpiration.seconds(1.5).expiry(from: now) == Timestamp(milliseconds: 1_001_500))
        #expect(StorageExpiration.days(7).expiry(from: now) == Timestamp(milliseconds: 1_000_000 + 604_800_000))
        #expect(StorageExpiration.date(Timestamp(milliseconds: 5)).isExpired(at: now))
        #expect(StorageExpiration.expired.isExpired(at: now))
        #expect(!StorageExpiration.never.isExpired(at: .init(milliseconds: .max - 1)))
    }

    @Test(
        "Absurdly long spans saturate",
        arguments: [
            StorageExpiration.seconds(1e300), .seconds(.infinity), .days(.max), .date(.distantFuture), .never,
        ])
    func far(_ expiration: StorageExpiration) {
        #expect(expiration.expiry(from: now) == .distantFuture)
    }

    @Test("A negative or undefined span has expired", arguments: [Double.nan, -1, -Double.infinity])
    func nonsense(_ seconds: Double) {
        #expect(StorageExpiration.seconds(seconds).isExpired(at: now))
    }

    @Test("Extending repeats or replaces the original span")
    func extending() {
        let read = now.advanced(by: 500)
        #expect(ExpirationExtending.none.expiry(after: read, timeToLive: 2000, current: now) == now)
        #expect(
            ExpirationExtending.cacheTime.expiry(after: read, timeToLive: 2000, current: now) == read.advanced(by: 2000)
        )
        #expect(ExpirationExtending.cacheTime.expiry(after: read, timeToLive: nil, current: now) == .distantFuture)
        #expect(
            ExpirationExtending.expirationTime(.seconds(3)).expiry(after: read, timeToLive: 1, current: now)
                == read.advanced(by: 3000))
    }
}
