import KFNetwork
import KFStorage
import Synchronization

/// The facts for a strategy's decision. Kingfisher's `RetryContext`.
public struct RetryContext: Sendable {
    /// The failed source.
    public let source: Source
    /// The error of the last attempt.
    public let error: KingfisherError
    /// The number of retries so far.
    public let retriedCount: Int
    /// Storage that the strategy keeps between the decisions on one retrieval.
    public let userInfo: RetryUserInfo

    /// Creates a context.
    public init(source: Source, error: KingfisherError, retriedCount: Int, userInfo: RetryUserInfo = RetryUserInfo()) {
        self.source = source
        self.error = error
        self.retriedCount = retriedCount
        self.userInfo = userInfo
    }
}

/// A value that a strategy stores between its decisions on one retrieval.
public final class RetryUserInfo: Sendable {
    private let stored = Mutex<(any Sendable)?>(nil)

    /// Creates empty storage.
    public init() {}

    /// The stored value; nil until the strategy sets it. Safe to use from any thread.
    public var value: (any Sendable)? {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
}

/// The decision of a strategy.
public enum RetryDecision: Sendable, Equatable {
    /// Retry after this delay.
    case retry(after: Duration)
    /// Give up: the error is final.
    case stop
}

/// A strategy that decides whether a failed retrieval is retried. Kingfisher's `RetryStrategy`. It is not asked about
/// cancellations.
public protocol RetryStrategy: Sendable {
    /// Returns the decision after a failure. It may await, for example, a new token or the network; it must not block.
    /// The retrieval holds no connection meanwhile. Cancelling the retrieval cancels the task of this call.
    func decide(_ context: RetryContext) async -> RetryDecision
    /// Called when a retry was decided and begins its delay. `delay` includes what the server asked for with
    /// Retry-After. Must not block.
    func willRetry(_ context: RetryContext, after delay: Duration)
}

extension RetryStrategy {
    public func willRetry(_ context: RetryContext, after delay: Duration) {}
}

/// A strategy that retries transient failures at most `maxRetryCount` times: broken transfers and the statuses 408,
/// 425, 429 and 5xx.
public struct DelayRetryStrategy: RetryStrategy {
    /// The back-off delay before a retry.
    public enum Interval: Sendable {
        /// A constant delay, in seconds.
        case seconds(Double)
        /// (`retriedCount` + 1) times this delay, in seconds.
        case accumulated(Double)
        /// This delay in seconds, doubled with each retry and at most 60 s, then multiplied by a random factor from 0.5
        /// to 1 (jitter).
        case exponential(Double)
        /// The delay that the closure returns, in seconds. The count begins with 0.
        case custom(@Sendable (_ retriedCount: Int) -> Double)

        func delay(retriedCount count: Int) -> Duration {
            switch self {
            case .seconds(let seconds): .seconds(seconds)
            case .accumulated(let seconds): .seconds(Double(count + 1) * seconds)
            case .exponential(let seconds):
                .seconds(min(60, seconds * Double(1 << min(count, 30))) * Double.random(in: 0.5...1))
            case .custom(let delay): .seconds(delay(count))
            }
        }
    }

    /// The maximum number of retries.
    public let maxRetryCount: Int
    /// The back-off delay before each retry.
    public let retryInterval: Interval

    /// Called at the beginning of each delay; nil by default.
    public var onRetry: (@Sendable (_ context: RetryContext, _ delay: Duration) -> Void)?

    /// Creates a strategy; the default delay is 3 s.
    public init(maxRetryCount: Int, retryInterval: Interval = .seconds(3)) {
        self.maxRetryCount = maxRetryCount
        self.retryInterval = retryInterval
    }

    public func decide(_ context: RetryContext) -> RetryDecision {
        guard context.retriedCount < maxRetryCount, Self.canHelp(context.error) else { return .stop }
        return .retry(after: retryInterval.delay(retriedCount: context.retriedCount))
    }

    public func willRetry(_ context: RetryContext, after delay: Duration) { onRetry?(context, delay) }

    static func canHelp(_ error: KingfisherError) -> Bool {
        guard case .responseError(let reason) = error else { return false }
        switch reason {
        case .invalidHTTPStatusCode(let status):
            return TransferError.isTransient(status)
        case .transferError(_, _, let isTransient), .invalidURLResponse(_, let isTransient): return isTransient
        case .noURLResponse: return true
        default: return false
        }
    }
}

extension KingfisherError {
    /// Whether the origin was unavailable, so that a stale image may be served instead.
    package var isOriginUnavailable: Bool {
        if case .responseError(reason: .circuitOpen) = self { return true }
        return DelayRetryStrategy.canHelp(self)
    }
}
