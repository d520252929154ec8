import KFCore

extension JSONObject {
    /// What an item's object says of its image; all null for one that failed.
    mutating func add(facts: ImageFacts?) {
        add("bytes", facts?.bytes)
        add("format", facts?.format.rawValue)
        add("width", facts?.width)
        add("height", facts?.height)
        add("frames", facts?.frames)
        add("decodable", facts?.isDecodable ?? false)
        add("sha256", facts?.sha256)
    }

    init(timings metrics: DownloadMetrics) {
        self.init()
        add("dns", seconds: metrics.dns)
        add("connect", seconds: metrics.connect)
        add("tls", seconds: metrics.tls)
        add("first_byte", seconds: metrics.firstByte)
        add("total", seconds: metrics.total)
    }

    init(error: KingfisherError) {
        self.init()
        add("code", error.errorCode)
        add("reason", error.reasonName)
        add("message", error.message)
    }
}
