extension ImageProcessItem {
    /// The image resampled to a size that follows from its own. What is still data is decoded no larger than that
    /// needs.
    func image(
        _ options: DecodeOptions, resizedTo target: (PixelSize) -> PixelSize
    ) throws(ImagingError) -> Image {
        switch self {
        case .image(let image):
            let size = target(PixelSize(width: image.width, height: image.height))
            try options.limits.check(width: size.width, height: size.height, frames: image.frames.count)
            return try Allowance.within(options.limits, fileBytes: nil) { () throws(ImagingError) in
                try image.mapBitmaps { (bitmap) throws(ImagingError) in try Resampler.resize(bitmap, to: size) }
            }
        case .data(let bytes):
            return try bytes.withUnsafeBufferPointer { (buffer) throws(ImagingError) in
                let bytes = UnsafeRawBufferPointer(buffer)
                let info = try ImageProbe.probe(bytes, limits: options.limits)
                var options = options
                options.exactSize = target(PixelSize(width: info.width, height: info.height))
                return try ImageDecoder.decode(bytes, options: options)
            }
        }
    }
}
