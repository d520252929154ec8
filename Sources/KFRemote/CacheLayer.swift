import KFNetwork
import KFTerms
import Synchronization

/// A store that several machines share: one of ``ImageCache/Configuration/remotes``. HTTP servers, S3 and shared
/// directories conform to it (``RemoteCacheLayer/layer(_:options:environment:creates:)``), and so can a program's own store.
///
/// A layer keeps blobs under names. It need not understand them: everything that is read is verified. `start` must not
/// block, and must end each request once, from any thread and in any order.
///
/// ```swift
/// final class TableLayer: CacheLayer {
///     let name = "table"
///     private let table: Table
///
///     func start(_ requests: [CacheLayerRequest]) {
///         for request in requests {
///             Task {
///                 switch request.operation {
///                 case .read:
///                     let bytes = await table.value(request.path)
///                     request.end(bytes.map { request.receive($0) ? .done : .failed("") } ?? .absent)
///                 case .check: request.end(await table.has(request.path) ? .done : .absent)
///                 case .write(let body, _):
///                     await table.set(request.path, try? body.load())
///                     request.end(.done)
///                 }
///             }
///         }
///     }
/// }
/// ```
public protocol CacheLayer: AnyObject, Sendable {
    /// The name in messages and reports. It must contain no secret.
    var name: String { get }
    /// How far away the layer is; nil while that is not known. An image is not uploaded to a layer that is further away
    /// than its origin.
    var reach: NetworkReach? { get }
    /// Returns where a blob is, for messages (by default, `name` and the blob's path). It must contain no secret.
    func location(of kind: CacheLayerRequest.Kind, _ name: String) -> String
    /// Starts requests. Must return soon.
    func start(_ requests: [CacheLayerRequest])
    /// Gives up requests that have been answered otherwise. The layer may end them or not.
    func cancel(_ requests: [CacheLayerRequest])
    /// Releases connections. A later `start` makes new ones.
    func shutdown()
}

extension CacheLayer {
    /// On the internet, so that images of private addresses are never uploaded.
    public var reach: NetworkReach? { .internet }
    public func location(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        "\(self.name)/\(CacheLayerRequest.path(of: kind, name))"
    }
    public func cancel(_ requests: [CacheLayerRequest]) {}
    public func shutdown() {}
}

/// The answer of a layer to a request.
public enum CacheLayerAnswer: Sendable, Equatable {
    /// The blob has been read to its end, exists, or is stored.
    case done
    /// The blob was not stored, because there is one of this name: the answer to a write that replaces nothing.
    case exists
    /// There is no such blob.
    case absent
    /// Another writer has the blob now, as the stated reason says. The upload is tried again a little later.
    case locked(String)
    /// The layer refuses requests of this kind, for the stated reason. It gets no more of them.
    case refused(String)
    /// The layer refuses this blob, for the stated reason.
    case refusedBlob(String)
    /// The layer asks for no uploads for a time. They continue afterwards.
    case busy(Duration)
    /// The layer could not be reached or failed, for the stated reason.
    case failed(String)
}

extension CacheLayerAnswer {
    /// The reason why there is no blob, in words; nil if it was read or does not exist.
    package var problem: String? {
        switch self {
        case .done, .exists, .absent: nil
        case .locked(let reason), .refused(let reason), .refusedBlob(let reason), .failed(let reason): reason
        case .busy(let span): "it asks for a rest of \(span.roundedSeconds) s"
        }
    }

    /// The same answer, whose reason also says where the blob is.
    func naming(_ location: @autoclosure () -> String) -> CacheLayerAnswer {
        switch self {
        case .done, .exists, .absent, .busy: self
        case .locked(let reason): .locked("\(reason) at \(location())")
        case .refused(let reason): .refused("\(reason) at \(location())")
        case .refusedBlob(let reason): .refusedBlob("\(reason) at \(location())")
        case .failed(let reason): .failed("\(reason) at \(location())")
        }
    }
}

/// The bytes of an upload.
public enum CacheLayerBody: Sendable {
    /// Bytes in memory: those of an entry.
    case bytes([UInt8])
    /// A file of the disk cache.
    case file(CachedFile)

    /// The size in bytes.
    public var size: Int64 {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file): file.size
        }
    }

    /// Returns all bytes; blocks on the disk.
    public func load() throws(KingfisherError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let file): try file.readAll()
        }
    }
}

/// A request to a layer.
public final class CacheLayerRequest: Sendable {
    /// The task of the layer.
    public enum Operation: Sendable {
        /// Pass the blob's bytes to `receive`.
        case read
        /// Tell whether the blob exists.
        case check
        /// Store the blob. Without `replaces`, a blob of that name may stay as it is; `exists` says so, and has it
        /// verified. Readers must see all of it or nothing.
        case write(CacheLayerBody, replaces: Bool)
    }

    /// The kind of a blob.
    public enum Kind: String, Sendable {
        /// The description of an image, named by the SHA-256 of its key. A later one replaces it.
        case entry = "ac"
        /// The bytes of an image, named by their SHA-256.
        case object = "cas"
    }

    /// The task of the layer.
    public let operation: Operation
    /// Whether the blob is an entry or an object.
    public let kind: Kind
    /// The name of the blob: 64 lowercase hexadecimal digits.
    public let name: String
    /// The greatest number of bytes that are taken.
    public let limit: Int64
    let receiver: any RemoteWaiter
    /// The number of the request among those that its receiver has made together.
    package let number: Int
    package let remote: Remote
    /// The number of bytes that have arrived, and whether the request has ended. Held while the receiver takes bytes, so
    /// that it takes none after the end.
    private let arrived = Mutex((bytes: Int64(0), isOver: false))

    package init(
        _ operation: Operation, _ kind: Kind, _ name: String, limit: Int64 = 0,
        of remote: Remote, for receiver: any RemoteWaiter, number: Int = 0
    ) {
        self.operation = operation
        self.kind = kind
        self.name = name
        self.limit = limit
        self.remote = remote
        self.receiver = receiver
        self.number = number
    }

    /// The path of the blob below the layer's root, such as `ac/ab/ab12…`.
    public var path: String { Self.path(of: kind, name) }

    static func path(of kind: Kind, _ name: String) -> String { "\(kind.rawValue)/\(name.prefix(2))/\(name)" }

    var isWrite: Bool { if case .write = operation { true } else { false } }

    /// Whether the blob has more than `limit` bytes.
    package var isTooLong: Bool { arrived.withLock { $0.bytes } > limit }

    /// Takes the next bytes of the blob. Returns false if no more are wanted. Calls must not overlap.
    public func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        noteActivity()
        return arrived.withLock { arrived in
            if arrived.isOver { return false }
            arrived.bytes += Int64(bytes.count)
            return arrived.bytes <= limit && receiver.receive(bytes, self)
        }
    }

    /// Lets the receiver take no more bytes. Waits for those that it is taking.
    func close() { arrived.withLock { $0.isOver = true } }

    /// Takes the next bytes of the blob.
    public func receive(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { receive($0) } }

    /// Tells that the layer is at work on this request. A layer that shows no sign of work for a while counts as dead.
    public func noteActivity() { remote.noteActivity() }

    /// Tells of something that keeps other users from the remote, or this one from a part of it.
    func warn(_ problem: String) { remote.warn(problem) }

    /// Ends the request. Only the first end counts.
    public func end(_ answer: CacheLayerAnswer) { Self.end([(self, answer)]) }

    /// Ends several requests, which costs less than ending each alone.
    public static func end(_ answers: [(request: CacheLayerRequest, answer: CacheLayerAnswer)]) {
        var rest = answers[...]
        // There is nearly always only one remote.
        while let remote = rest.first?.request.remote {
            remote.finish(rest.filter { $0.request.remote === remote })
            rest = rest.filter { $0.request.remote !== remote }[...]
        }
    }
}
