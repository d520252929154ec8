import Foundation
import Support
import Synchronization

/// The origin of the kept cache.
enum KeptOrigin {
    static func url(_ name: String) -> String { "http://origin.test/\(name)" }

    /// A picture with a private chunk: large enough that an interrupted download is kept.
    static let large: [UInt8] = {
        let picture = image("png/tall.png")
        let chunk = PNGChunk.bytes("teSt", [UInt8](repeating: 7, count: 1 << 20))
        return picture.dropLast(12) + chunk + picture.suffix(12)
    }()

    private static func image(_ name: String) -> [UInt8] { FixturesDirectory.image(name) }

    /// Commands that fill a cache, each with its exit status.
    static let commands: [(words: [String], status: Int32)] = [
        (["fetch", url("a.png"), "--expire", "never", "--tag", "site"], 0),
        (["fetch", url("a.png"), "--expire", "never", "-p", "resize:20x", "--tag", "site"], 0),
        (["fetch", url("vary.png"), "--cache-policy", "http", "-H", "Accept-Language: en"], 0),
        (["fetch", url("vary.png"), "--cache-policy", "http", "-H", "Accept-Language: de"], 0),
        (["fetch", url("missing.png"), "--negative-ttl", "36500d"], 1),
        (["fetch", url("changing.png"), "--expire", "1s"], 0),
        (["fetch", url("changing.png"), "--expire", "never", "--stale-while-revalidate", "1d"], 0),
        (["fetch", url("expired.png"), "--expire", "1s"], 0),
        (["fetch", url("partial.png"), "--expire", "never", "--retry", "0"], 1),
    ]

    /// Commands that hit the filled cache.
    static let hits = [
        [url("a.png")], [url("a.png"), "-p", "resize:20x"], [url("changing.png")],
        [url("vary.png"), "--cache-policy", "http", "-H", "Accept-Language: en"],
        [url("vary.png"), "--cache-policy", "http", "-H", "Accept-Language: de"],
    ]

    /// Lists that hit the filled cache, with their options.
    static let lists: [(names: [String], options: [String])] = [
        (["a.png", "changing.png"], []), (["a.png"], ["-p", "resize:20x"]),
        (["vary.png"], ["--cache-policy", "http", "-H", "Accept-Language: de"]),
    ]

    static func server() throws -> FaultServer {
        let images = ["a.png": image("png/rgb-colour-key.png"), "expired.png": image("png/one-pixel.png")]
        let changes = Atomic(0)
        return try FaultServer { request in
            let name = String(request.path.split(separator: "/").last ?? "")
            switch name {
            case "missing.png": return [.reply("404 Not Found")]
            case "vary.png":
                let isEnglish = request.header("Accept-Language") == "en"
                // Fresh for a hundred years.
                return [
                    .reply(
                        headers: ["Vary: Accept-Language", "Cache-Control: max-age=3153600000"],
                        body: image(isEnglish ? "png/grey-1bit.png" : "webp/animated.webp"))
                ]
            case "changing.png":
                let isFirst = changes.add(1, ordering: .relaxed).oldValue == 0
                return [.reply(body: image(isFirst ? "bmp/one-pixel.bmp" : "png/tall.png"))]
            case "partial.png": return partial(request)
            default:
                let tag = "\"\(name.dropLast(4))\""
                if request.header("If-None-Match") == tag {
                    return [.head("HTTP/1.1 304 Not Modified", "ETag: \(tag)")]
                }
                return [.reply(headers: ["ETag: \(tag)"], body: images[name] ?? image("png/palette-2bit.png"))]
            }
        }
    }

    /// Breaks off in the middle, unless it is asked for the rest.
    private static func partial(_ request: FaultRequest) -> [FaultStep] {
        if request.start > 0 { return [.rest(large, of: request, "ETag: \"partial\"")] }
        let head = ["HTTP/1.1 200 OK", "ETag: \"partial\"", "Content-Length: \(large.count)"]
        return [.raw(head, large[..<600_000]), .pause(.milliseconds(50)), .close]
    }
}
