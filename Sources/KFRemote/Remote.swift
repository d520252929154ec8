import Dispatch
import Synchronization

/// A layer with the requests that it works on, watched for silence.
package final class Remote: Sendable {
    /// How long the layer may show no sign of work while it has requests. All of them then fail at once, so that a dead
    /// remote costs a run this time once, and not once for each image.
    private let silence: Duration

    private struct Duty {
        var health = RemoteHealth()
        var requests: [ObjectIdentifier: CacheLayerRequest] = [:]
        var isWatching = false

        mutating func takeAll() -> [CacheLayerRequest] {
            defer { requests = [:] }
            return Array(requests.values)
        }
    }

    package let layer: any CacheLayer
    /// Called with each change of the health, never under a lock.
    private let report: @Sendable (RemoteHealth.Change) -> Void
    private let duty = Mutex(Duty())
    /// The time of the last sign of work, in nanoseconds of the monotonic clock.
    private let lastActivity = Atomic<UInt64>(0)

    package init(
        _ layer: any CacheLayer, silence: Duration, report: @escaping @Sendable (RemoteHealth.Change) -> Void
    ) {
        self.layer = layer
        self.silence = silence
        self.report = report
    }

    package var name: String { layer.name }

    /// Whether look-ups pass it over now.
    package var isDown: Bool { duty.withLock { $0.health.isDown(at: .now) } }

    package var isWritable: Bool { duty.withLock { $0.health.isWritable } }

    package func admitLookUp() -> RemoteHealth.Admission { duty.withLock { $0.health.admitLookUp(at: .now) } }

    package var uploadGate: RemoteHealth.UploadGate { duty.withLock { $0.health.uploadGate(at: .now) } }

    /// The time since the last sign of work.
    package var silentTime: Duration {
        let (now, last) = (DispatchTime.now().uptimeNanoseconds, lastActivity.load(ordering: .relaxed))
        return .nanoseconds(Int64(now > last ? now - last : 0))
    }

    /// Starts requests, whose receivers are told of their ends.
    package func start(_ requests: [CacheLayerRequest]) {
        let isWatching = duty.withLock { duty in
            if duty.requests.isEmpty { noteActivity() }
            for request in requests { duty.requests[ObjectIdentifier(request)] = request }
            defer { duty.isWatching = true }
            return duty.isWatching
        }
        if !isWatching { watch(after: silence) }
        layer.start(requests)
    }

    package func noteActivity() { lastActivity.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed) }

    func warn(_ problem: String) { report(.excludes(problem)) }

    func finish(_ answers: [(request: CacheLayerRequest, answer: CacheLayerAnswer)]) {
        noteActivity()
        var changes: [RemoteHealth.Change] = []
        var left: [CacheLayerRequest] = []
        var ended: [(request: CacheLayerRequest, answer: CacheLayerAnswer)] = []
        // Under one lock, because the network thread hands over the ends of many requests.
        duty.withLock { duty in
            for (request, answer) in answers
            where duty.requests.removeValue(forKey: ObjectIdentifier(request)) != nil {
                let named = answer.naming(layer.location(of: request.kind, request.name))
                ended.append((request, named))
                guard let change = duty.health.note(named, to: request.healthKind, at: .now) else { continue }
                changes.append(change)
                switch change {
                // The requests in flight have become pointless.
                case .rests, .refusesReading: left += duty.takeAll()
                case .uploadsRest, .isBack, .refusesWriting, .asksForRest, .excludes: break
                }
            }
        }
        for change in changes { report(change) }
        abandon(left)
        for (request, answer) in ended { request.close(with: answer) }
    }

    /// Drops the requests for a receiver that no longer waits.
    package func giveUp(for receiver: any RemoteWaiter) {
        let left = duty.withLock { duty in
            let left = duty.requests.values.filter { $0.receiver === receiver }
            for request in left { duty.requests[ObjectIdentifier(request)] = nil }
            return left
        }
        guard !left.isEmpty else { return }
        for request in left { request.close() }
        layer.cancel(left)
    }

    /// Ends the requests in flight, which says nothing about the layer's health, and releases the connections.
    package func shutdown() {
        abandon(duty.withLock { $0.takeAll() }, because: "the cache is being closed")
        layer.shutdown()
    }

    /// Ends requests that get no answer any more.
    private func abandon(_ requests: [CacheLayerRequest], because reason: String = "it does not answer") {
        guard !requests.isEmpty else { return }
        layer.cancel(requests)
        for request in requests { request.close(with: .failed(reason)) }
    }

    private func watch(after span: Duration) {
        DispatchQueue.global().asyncAfter(deadline: .now() + span / .seconds(1)) { [weak self] in self?.look() }
    }

    private func look() {
        let since = silentTime
        var left: [CacheLayerRequest] = []
        var change: RemoteHealth.Change?
        let watches = duty.withLock { duty in
            // Only look-ups hold a run up. Uploads have time limits of their own, which know what a slow line has taken.
            if since >= silence, duty.requests.values.contains(where: { !$0.isWrite }) {
                change = duty.health.beginRest("it does not answer", at: .now)
                left = duty.takeAll()
            }
            duty.isWatching = !duty.requests.isEmpty
            return duty.isWatching
        }
        if watches { watch(after: since < silence ? silence - since : silence) }
        if let change { report(change) }
        abandon(left)
    }
}

/// A waiter for a request to a remote.
package protocol RemoteWaiter: AnyObject, Sendable {
    /// Takes the next bytes. Returns false if no more are wanted. Must not block for long.
    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool
    /// Takes the end of the request. Must not block for long.
    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer)
}

extension CacheLayerRequest {
    /// Ends the request for its receiver.
    fileprivate func close(with answer: CacheLayerAnswer) {
        close()
        receiver.ended(self, answer)
    }

    fileprivate var healthKind: RemoteHealth.Kind {
        if isWrite { return .upload }
        return kind == .entry ? .entry : .object
    }
}
