import Glibc
import KFNetwork
import KFStorage
import KFSystem
import KFTerms

/// A directory on a shared file system: `file:` remotes. A web server may serve the same tree for reading.
final class FileCacheLayer: CacheLayer {
    let name: String
    /// The machine: the permissions of the directory decide about its readers.
    var reach: NetworkReach? { .machine }

    func location(of kind: CacheLayerRequest.Kind, _ name: String) -> String {
        "\(self.name)/\(RemoteLayout.path(of: kind, name))"
    }
    private let directory: SharedDirectory
    /// The threads, which a file system that hangs may block.
    private let pool = WorkerPool(label: "kf.remote", width: DescriptorLimit.beside(8))
    /// The number of requests that one thread works on before their ends are handed over.
    private static let together = 8

    init(_ url: RemoteURL, creates: Bool) throws(KingfisherError) {
        guard url.host.isEmpty || url.host == "localhost", url.path.count > 1 else {
            throw RemoteURL.invalid("a file: address names a directory of this machine, as in file:///mnt/cache")
        }
        let path = PercentCoding.decode(url.path[...])
        name = "file://\(path)"
        directory = SharedDirectory(path, creates: creates)
    }

    func start(_ requests: [CacheLayerRequest]) {
        var rest = requests[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.together)
            rest = rest.dropFirst(some.count)
            pool.submit { [self] in
                CacheLayerRequest.end(some.map { request in (request, answer(request)) })
            }
        }
    }

    private func answer(_ request: CacheLayerRequest) -> CacheLayerAnswer {
        let path = RemoteLayout.path(of: request.kind, request.name)
        do throws(StorageError) {
            switch request.operation {
            case .read: return try read(path, request)
            case .check: return try directory.open(path) == nil ? .absent : .done
            case .write(let body, let replaces):
                return try write(body, to: path, replaces: replaces, request) ? .done : .exists
            }
        } catch {
            return answer(to: error, request, path)
        }
    }

    private func read(_ path: String, _ request: CacheLayerRequest) throws(StorageError) -> CacheLayerAnswer {
        guard let file = try directory.open(path) else { return .absent }
        let size = min(Int64(try file.status().st_size), request.limit)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(size, 256 << 10)) + 1, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = try file.read(into: buffer)
            if count == 0 { return .done }
            guard request.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else {
                return .refusedBlob("it was not read to its end")
            }
        }
    }

    /// Returns false if a file is there that is not to be replaced.
    private func write(
        _ body: CacheLayerBody, to path: String, replaces: Bool, _ request: CacheLayerRequest
    ) throws(StorageError) -> Bool {
        try directory.write(path, replaces: replaces, warn: request.warn) { target throws(StorageError) in
            request.noteActivity()
            switch body {
            case .bytes(let bytes): try bytes.withBytes { bytes throws(StorageError) in try target.write(bytes) }
            case .file(let file): try file.copy(to: target)
            }
        }
    }

    private func answer(to error: StorageError, _ request: CacheLayerRequest, _ path: String) -> CacheLayerAnswer {
        guard case .system(_, _, let code) = error else { return .refusedBlob(error.message) }
        switch code {
        case EACCES where !request.isWrite && directory.holds(path):
            // A file of a writer whose umask shuts others out. The other files may be readable, and it can be replaced.
            request.warn("\(error.message)\(directory.cure)")
            if case .check = request.operation { return .done }
            return .refusedBlob(error.message)
        case EACCES, EPERM: return .refused("\(error.message)\(directory.cure)")
        case EROFS, ENOSPC, EDQUOT: return .refused(error.message)
        case EFBIG, ELOOP, EXDEV, EISDIR, ENOTDIR: return .refusedBlob(error.message)
        default: return .failed(error.message)
        }
    }
}
