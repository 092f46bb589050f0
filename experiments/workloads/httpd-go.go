// SPDX-License-Identifier: MIT

// The web server with Go's own net/http: a goroutine a connection, with the options and the end of the others.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const program = "httpd-go"
const about = "a server of HTTP/1.1, a goroutine a connection (net/http); until SIGTERM or SIGINT"
const clock = "cpu: processor time of the server from its start to its end, for each request; that is one repetition, " +
	"whatever --warmup and --reps are, and has no histogram"
const histogram = ""
const differs = "net/http: a Date in each answer, every field parsed; garbage collected"

func declare() {
	add(false, "address", "text", 0, 0, "127.0.0.1", "", "to listen at, numeric or a name; 0.0.0.0: all of IPv4, ::, all that there are")
	add(false, "port", "int", 0, 65535, "0", "", "to listen at; 0: one that is free")
	add(false, "patience", "real", 0.01, 86400, "30", "s", "a connection ends that makes no progress for so long")
	add(false, "files", "text", 0, 0, "", "", "directory whose files are served; absent: /plaintext only")
}

func main() {
	parse(os.Args[1:])
	runtime.GOMAXPROCS(int(number("workers")))
	var requests, connections uint64
	text, mux := []byte("Hello, world!"), http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = []string{"text/plain"}
		w.Write(text)
	})
	if files := find("files").text; files != "" {
		if is, err := os.Stat(files); err != nil || !is.IsDir() {
			usage("--files %s is no directory", files)
		}
		mux.Handle("/", http.FileServer(http.Dir(files)))
	}
	address, network := find("address").text, "tcp"
	if address == "" {
		usage("--address \"\": there is none")
	}
	if ip := net.ParseIP(address); ip != nil && ip.To4() != nil {
		network = "tcp4" // else 0.0.0.0 would be :: as well
	}
	listener, err := net.Listen(network, net.JoinHostPort(address, strconv.Itoa(int(number("port")))))
	if err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(77)
	}
	patience := time.Duration(real("patience") * 1e9)
	server := &http.Server{ReadHeaderTimeout: patience, IdleTimeout: patience, WriteTimeout: 0,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			atomic.AddUint64(&requests, 1)
			mux.ServeHTTP(w, r)
		}),
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateNew {
				atomic.AddUint64(&connections, 1)
			}
		}}
	ends, over := make(chan os.Signal, 1), make(chan bool)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ends
		server.Close()
		server.Shutdown(context.Background())
		close(over)
	}()
	fmt.Fprintf(os.Stderr, "%s: listening at %s\n", program, listener.Addr())
	server.Serve(listener)
	<-over
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	rep := number("warmup")
	sample("requests", "1", float64(requests), rep, false)
	sample("connections", "1", float64(connections), rep, false)
	if requests > 0 {
		sample("cpu", "ns", float64(used.Utime.Nano()+used.Stime.Nano())/float64(requests), rep, false)
	}
	os.Exit(finish())
}
