import KFRemote
import KFStorage
import KFTerms
import Synchronization

/// The remotes of a cache: read in their order after a miss, and the first one written to if the configuration says so.
package final class RemoteTier: Sendable {
    package let remotes: [Remote]
    /// Whether a remote that refuses or cannot be reached is an error.
    let isRequired: Bool
    let uploads: RemoteUploads?
    let log: RemoteLog
    /// The objects that are being read, or have been read and are not stored yet. The look-ups beyond it wait.
    let room = Room()

    /// Creates the tier of a cache. Nothing is asked before an image needs it.
    init(_ configuration: ImageCache.Configuration) {
        let log = RemoteLog(configuration)
        self.log = log
        isRequired = configuration.requiresRemotes
        remotes = configuration.remotes.map { layer in
            Remote(layer, silence: configuration.remoteSilence) { log.note($0, of: layer.name) }
        }
        uploads = remotes.first.flatMap { first in
            guard configuration.writesToRemote else { return nil }
            return RemoteUploads(first, log, waiting: configuration.remoteWait, until: configuration.lockDeadline)
        }
    }

    /// The error of a required remote that is not asked now; nil when there is none.
    var presentProblem: KingfisherError? {
        guard isRequired, let problem = log.problem else { return nil }
        return remotes.contains { $0.isDown } || uploads.map { $0.remote.uploadGate != .open } ?? false ? problem : nil
    }

    /// Whether a look-up would be worth while now.
    var isUp: Bool { presentProblem != nil || remotes.contains { !$0.isDown } }

    /// Uploads that are not done at the end of the time are dropped.
    func close() {
        uploads?.drain()
        for remote in remotes { remote.shutdown() }
    }
}

extension ImageCache {
    /// The stores that are asked after a miss here, made when they are first needed; nil without any.
    package var remotes: RemoteTier? {
        if configuration.remotes.isEmpty { return nil }
        return remoteStores.withLock { stores in
            if let tier = stores { return tier }
            let tier = RemoteTier(configuration)
            stores = tier
            return tier
        }
    }
}
