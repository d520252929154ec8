import Dispatch
import Synchronization

/// A layer with the requests that it works on, watched for silence.
final class Remote: Sendable {
    /// How long the layer may show no sign of work while it has requests. All of them then fail at once, so that a dead
    /// remote costs a run this time once, and not once for each image.
    private let silence: Duration

    private struct State {
        var health = RemoteHealth()
        var requests: [ObjectIdentifier: CacheLayerRequest] = [:]
        var isWatching = false
    }

    let layer: any CacheLayer
    /// Called with each change of the health, never under a lock.
    private let report: @Sendable (RemoteHealth.Change) -> Void
    private let state = Mutex(State())
    /// The time of the last sign of work, in nanoseconds of the monotonic clock.
    private let lastActivity = Atomic<UInt64>(0)

    init(
        _ layer: any CacheLayer, silence: Duration, report: @escaping @Sendable (RemoteHealth.Change) -> Void
    ) {
        self.layer = layer
        self.silence = silence
        self.report = report
    }

    var name: String { layer.name }

    /// Whether look-ups pass it over now.
    var isDown: Bool { state.withLock { $0.health.isDown(at: .now) } }

    var isWritable: Bool { state.withLock { $0.health.isWritable } }

    func admitLookUp() -> RemoteHealth.Admission { state.withLock { $0.health.admitLookUp(at: .now) } }

    var uploadGate: RemoteHealth.UploadGate { state.withLock { $0.health.uploadGate(at: .now) } }

    /// The time since the last sign of work.
    var silentTime: Duration {
        let (now, last) = (DispatchTime.now().uptimeNanoseconds, lastActivity.load(ordering: .relaxed))
        return .nanoseconds(Int64(now > last ? now - last : 0))
    }

    /// Starts requests, whose receivers are told of their ends.
    func start(_ requests: [CacheLayerRequest]) {
        let watches = state.withLock { state in
            if state.requests.isEmpty { noteActivity() }
            for request in requests { state.requests[ObjectIdentifier(request)] = request }
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if watches { watch(after: silence) }
        layer.start(requests)
    }

    /// Starts requests to several remotes, those to each together.
    static func start(_ requests: [CacheLayerRequest]) {
        var rest = requests[...]
        while let remote = rest.first?.remote {
            remote.start(rest.filter { $0.remote === remote })
            rest = rest.filter { $0.remote !== remote }[...]
        }
    }

    func noteActivity() { lastActivity.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed) }

    func finish(_ answers: [(request: CacheLayerRequest, answer: CacheLayerAnswer)]) {
        noteActivity()
        var changes: [RemoteHealth.Change] = []
        var left: [CacheLayerRequest] = []
        // Under one lock, because the network thread hands over the ends of many requests.
        let ended = state.withLock { state in
            answers.filter { request, answer in
                guard state.requests.removeValue(forKey: ObjectIdentifier(request)) != nil else { return false }
                if let change = state.health.note(
                    answer.naming(layer.location(of: request.kind, request.name)), to: request.healthKind, at: .now)
                {
                    changes.append(change)
                    left += Self.takeAll(after: change, &state)
                }
                return true
            }
        }
        for change in changes { report(change) }
        abandon(left)
        StoreWorkers.shared.add(
            ended.compactMap {
                $0.request.close(with: $0.answer.naming(layer.location(of: $0.request.kind, $0.request.name)))
            })
    }

    /// Drops the requests for a receiver that no longer waits.
    func giveUp(for receiver: any RemoteWaiter) {
        let left = state.withLock { state in
            let left = state.requests.values.filter { $0.receiver === receiver }
            for request in left { state.requests[ObjectIdentifier(request)] = nil }
            return left
        }
        guard !left.isEmpty else { return }
        for request in left { request.close() }
        layer.cancel(left)
    }

    /// Ends the requests in flight, which says nothing about the layer's health, and releases the connections.
    func shutdown() {
        let left = state.withLock { state in
            defer { state.requests = [:] }
            return Array(state.requests.values)
        }
        layer.cancel(left)
        StoreWorkers.shared.add(left.compactMap { $0.close(with: .failed("the cache is being closed")) })
        layer.shutdown()
    }

    /// Returns the requests in flight, which the change makes pointless.
    private static func takeAll(after change: RemoteHealth.Change, _ state: inout State) -> [CacheLayerRequest] {
        switch change {
        case .rests, .refusesReading:
            defer { state.requests = [:] }
            return Array(state.requests.values)
        default: return []
        }
    }

    /// Ends the requests that a dead remote has left.
    private func abandon(_ requests: [CacheLayerRequest]) {
        guard !requests.isEmpty else { return }
        layer.cancel(requests)
        StoreWorkers.shared.add(requests.compactMap { $0.close(with: .failed("it does not answer")) })
    }

    private func watch(after span: Duration) {
        let (seconds, attoseconds) = span.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in self?.look() }
    }

    private func look() {
        let since = silentTime
        let (left, change, again) = state.withLock { state -> ([CacheLayerRequest], RemoteHealth.Change?, Bool) in
            guard !state.requests.isEmpty else {
                state.isWatching = false
                return ([], nil, false)
            }
            // Only look-ups hold a run up. Uploads have time limits of their own, which know what a slow line has taken.
            guard since >= silence, state.requests.values.contains(where: { !$0.isWrite }) else {
                return ([], nil, true)
            }
            let change = state.health.noteSilence("it does not answer", at: .now)
            defer { (state.requests, state.isWatching) = ([:], false) }
            return (Array(state.requests.values), change, false)
        }
        if again {
            return watch(after: since < silence ? silence - since : silence)
        }
        if let change { report(change) }
        abandon(left)
    }
}

/// A waiter for a request to a remote.
protocol RemoteWaiter: AnyObject, Sendable {
    /// Takes the next bytes. Returns false if no more are wanted. Must not block for long.
    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool
    /// Takes the end of the request. Returns the work to do next on a worker.
    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) -> (any StoreWork)?
}

extension CacheLayerRequest {
    /// Ends the request for its receiver. Returns the work to do next on a worker.
    fileprivate func close(with answer: CacheLayerAnswer) -> (any StoreWork)? {
        close()
        return receiver.ended(self, answer)
    }

    fileprivate var healthKind: RemoteHealth.Kind {
        if isWrite { return .upload }
        return kind == .entry ? .entry : .object
    }
}
