import Dispatch
import Glibc
import KFCore
import Synchronization

/// A server that resizes the images of an origin.
final class ImageProxy: Sendable {
    /// The sides that a request may ask for. With any number of pixels, clients could fill the cache.
    private static let sides = ["64", "160", "320", "640"]

    let manager: KingfisherManager
    private let origin: String
    private let listener: Listener
    /// The places for images at work. A request waits 5 seconds for one.
    private let places = DispatchSemaphore(value: 32)

    init(origin: String, directory: String) throws(Failure) {
        self.origin = origin
        listener = try Listener(connections: 256)
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.diskSizeLimit = 1 << 30
        configuration.memoryCostLimit = 32 << 20
        var downloading = ImageDownloader.Configuration()
        downloading.maxConnectionsPerHost = 16
        downloading.failuresToOpenCircuit = 20
        manager = KingfisherManager(
            cache: ImageCache(configuration), downloader: ImageDownloader(downloading))
        manager.defaultOptions = [
            .retryStrategy(DelayRetryStrategy(maxRetryCount: 2, retryInterval: .exponential(0.2))),
            .cachePolicy(.http), .staleIfError(.seconds(86_400)), .cacheOriginalImage,
        ]
    }

    /// Returns the response to a request for a path with its query.
    private func response(to target: Substring) async -> Response {
        let parts = target.dropFirst().split(separator: "/", maxSplits: 1)
        guard parts.count == 2, Self.sides.contains(String(parts[0])), let side = Double(parts[0]) else {
            return Response(404, "the path is /SIDE/PATH; SIDE is one of \(Self.sides.joined(separator: ", "))")
        }
        let (path, query) = parts[1].divided(at: "?")
        var options = manager.options([
            .processor(ResizingImageProcessor(width: side, height: side, mode: .fit, shrink: true))
        ])
        if !query.isEmpty {
            let (function, digits) = query.divided(at: "=")
            guard let hash = ContentHash("\(function):\(digits)") else {
                return Response(404, "the query is sha256= and 64 digits")
            }
            options.expectedHash = hash
        }
        do {
            let url = try RequestURL("\(origin)/\(path)")
            let result = try await manager.retrieveImage(with: .network(url), options: options)
            var response = Response(200, type: "image/\(result.facts.format.rawValue)", try await result.data())
            response.fields = "ETag: \"\(result.facts.sha256 ?? "")\"\r\nX-Way: \(result.way.rawValue)\r\n"
            return response
        } catch {
            return Response(error)
        }
    }
}

/// What is sent to a client.
private struct Response: Sendable {
    let status: Int
    let type: String
    let body: [UInt8]
    var fields = ""

    init(_ status: Int, type: String = "text/plain", _ body: [UInt8]) {
        (self.status, self.type, self.body) = (status, type, body)
    }

    init(_ status: Int, _ text: String) { self.init(status, Array("\(text)\n".utf8)) }

    init(_ error: KingfisherError) {
        let text = "\(error.message) [\(error.errorCode)]"
        switch error {
        case .requestError(reason: .invalidURL): self.init(404, text)
        case .responseError(reason: .transferError(.timeout, _, _)): self.init(504, text)
        default: self.init([404, 410].contains(error.httpStatus) ? 404 : 502, text)
        }
    }

    func head(closes: Bool) -> String {
        "HTTP/1.1 \(status) \(status == 200 ? "OK" : "Error")\r\nContent-Type: \(type)\r\n"
            + "Content-Length: \(body.count)\r\n\(fields)Connection: \(closes ? "close" : "keep-alive")\r\n\r\n"
    }
}

extension ImageProxy {
    /// Serves a connection until the client closes it, or the server ends.
    private func serve(_ connection: Connection) {
        while let target = connection.readTarget() {
            guard places.wait(timeout: .now() + 5) == .success else {
                var busy = Response(503, "all places are taken")
                busy.fields = "Retry-After: 1\r\n"
                guard connection.send(busy.head(closes: true), busy.body) else { return }
                return
            }
            defer { places.signal() }
            let answer = Answer()
            Task { answer.give(await response(to: target)) }
            let answered = answer.wait()
            let closes = listener.isClosed
            guard connection.send(answered.head(closes: closes), answered.body), !closes else { return }
        }
    }
}

/// A response that one thread waits for.
private final class Answer: Sendable {
    private let response = Mutex<Response?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    func give(_ response: Response) {
        self.response.withLock { $0 = response }
        isGiven.signal()
    }

    func wait() -> Response {
        isGiven.wait()
        return response.withLock { $0 } ?? Response(500, "no response")
    }
}

extension ImageProxy {
    /// Serves until the process gets SIGTERM or SIGINT, and then finishes what is under way.
    func run() async {
        signal(SIGPIPE, SIG_IGN)
        let (signals, told) = AsyncStream<Void>.makeStream()
        let sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { told.yield() }
            source.activate()
            return source
        }
        Listener.thread { [self] in
            while let connection = listener.accept() {
                Listener.thread { [self] in
                    serve(connection)
                    listener.end(connection)
                }
            }
        }
        print("http://127.0.0.1:\(listener.port)")
        fflush(nil)
        for await _ in signals { break }
        for source in sources { source.cancel() }
        await withCheckedContinuation { continuation in
            Listener.thread { [self] in
                listener.close()
                continuation.resume()
            }
        }
        await manager.shutdown()
    }
}

extension Substring {
    /// Returns what is before and after the first mark; without one, all and nothing.
    fileprivate func divided(at mark: Character) -> (Substring, Substring) {
        guard let index = firstIndex(of: mark) else { return (self, "") }
        return (self[..<index], self[self.index(after: index)...])
    }
}
