import Glibc
import KFCore
import Synchronization

/// A server in this process. The colour of an image encodes its path and its version.
final class Origin: Sendable {
    /// The side of a picture in pixels. A chunk beside the picture makes the files differ in size. It has one random byte,
    /// repeated: a system call for each byte took most of the time of a run.
    private static let side = 48

    let address: String
    private let listener: Int32
    private let versions: Mutex<[Int]>
    private let answered = Atomic(0)

    /// The number of answered requests.
    var requests: Int { answered.load(ordering: .relaxed) }

    init(keys: Int) {
        signal(SIGPIPE, SIG_IGN)
        versions = Mutex(Array(repeating: 0, count: keys))
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (socket, size) = (listener, length)
        let isBound = withUnsafeMutableBytes(of: &place) { bytes in
            guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(socket, address, size) == 0 && listen(socket, 1024) == 0
                && getsockname(socket, address, &length) == 0
        }
        precondition(isBound, "no port for the origin: \(String(cString: strerror(errno)))")
        address = "http://127.0.0.1:\(UInt16(bigEndian: place.sin_port))"
        thread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                if connection >= 0 { thread { self.serve(connection) } }
            }
        }
    }

    func url(_ key: Int) -> String { "\(address)/\(key).png" }

    func version(_ key: Int) -> Int { versions.withLock { $0[key] } }

    /// Replaces the image of a path and returns its version.
    func replace(_ key: Int) -> Int {
        versions.withLock { versions in
            versions[key] += 1
            return versions[key]
        }
    }

    /// Returns the colour of a version. Versions repeat after 256.
    static func color(_ key: Int, _ version: Int) -> [UInt8] {
        [UInt8(key & 255), UInt8(key >> 8 & 255), UInt8(version & 255)]
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            while !head.ends {
                let count = recv(connection, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                head += buffer[..<count]
            }
            let digits = head.dropFirst("GET /".utf8.count).prefix { $0 != UInt8(ascii: ".") }
            head = []
            guard let key = Int(String(decoding: digits, as: UTF8.self)) else { return }
            answered.add(1, ordering: .relaxed)
            let (answer, pause) = answer(key)
            if let pause, send(connection, answer.prefix(answer.count / 2)) {
                usleep(pause)
            } else if pause != nil {
                return
            }
            guard send(connection, pause == nil ? answer[...] : answer.dropFirst(answer.count / 2)) else { return }
        }
    }

    /// Returns the response. One in fifty is a temporary refusal (503), and about one in ten is slow.
    private func answer(_ key: Int) -> (bytes: [UInt8], pause: UInt32?) {
        let chance = Int.random(in: 0..<50)
        if chance == 0 {
            return (Array("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".utf8), nil)
        }
        let image = Self.png(Self.color(key, version(key)), noise: Int.random(in: 1_000..<30_000))
        let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: \(image.count)\r\n\r\n"
        return (Array(head.utf8) + image, chance < 5 ? 5_000 : nil)
    }

    private func send(_ connection: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func png(_ color: [UInt8], noise: Int) -> [UInt8] {
        do {
            var bitmap = try Bitmap(width: side, height: side, format: PixelFormat(.rgb))
            try bitmap.withUnsafeMutableRows { rows in
                for y in 0..<side {
                    let row = rows.row(y)
                    for x in 0..<side * 3 { row[x] = color[x % 3] }
                }
            }
            let bytes = try ImageEncoder.encode(Image(bitmap), as: .png)
            // Inserted before the last chunk, which has 12 bytes.
            let chunk = Chunk.make("noIs", [UInt8](repeating: .random(in: 0...255), count: noise))
            return bytes.dropLast(12) + chunk + bytes.suffix(12)
        } catch {
            preconditionFailure("no picture: \(error)")
        }
    }
}

extension [UInt8] {
    /// Whether a head is complete.
    fileprivate var ends: Bool { count >= 4 && suffix(4).elementsEqual([13, 10, 13, 10]) }
}

/// A chunk of a PNG.
private enum Chunk {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
    }

    static func make(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + data
        let crc = ~body.reduce(UInt32.max) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
        return bytes(UInt32(data.count)) + body + bytes(crc)
    }

    private static func bytes(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}

/// Runs work on a new thread, which ends with it.
private func thread(_ work: @escaping @Sendable () -> Void) {
    final class Box {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(work))
    let failure = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().work()
            return nil
        }, box.toOpaque())
    precondition(failure == 0, "no thread: \(String(cString: strerror(failure)))")
    pthread_detach(thread)
}
